import type { Clock } from '../../common/clock.js';
import type { LockLogger } from '../../common/logger.js';
import { LockConfigError, LockStoreError } from '../../errors/index.js';
import type { QuorumMember, ServerIdentity } from '../quorum-member.js';
import { MasterClocks } from './master-clocks.js';

/** For how many ms a master that leads to another one's server is not looked at again. */
const EXCLUDED_FOR = 1_000;
/** How often a question who it is may be overtaken by a lost connection. */
const MOST_EXAMINATIONS = 5;

/** The masters of a quorum, and whether they may be its members: each a server of its own, and none in a Cluster. */
export class Membership {
  readonly members: readonly Member[];
  readonly clocks: MasterClocks;
  /** Why these masters cannot make up a quorum, once that is known. */
  refusal: LockConfigError | undefined;
  private readonly servers = new Map<string, Member>();
  private warned = false;

  constructor(
    stores: readonly QuorumMember[],
    private readonly logger: LockLogger,
    readonly clock: Clock,
  ) {
    this.members = stores.map((store, place) => new Member(store, place, this));
    this.clocks = new MasterClocks((place) => this.members[place]!.name, logger);
  }

  /**
   * Looks which server a master leads to; each time it is connected anew, since an address may come to lead elsewhere.
   * @throws LockConfigError when a master cannot be a member from the start; LockStoreError when it does not tell, or cannot
   * be one for now
   */
  examine(member: Member, identity: ServerIdentity | undefined): void {
    if (identity === undefined) {
      if (!this.warned) this.logger.warn(CANNOT_TELL);
      this.warned = true;
      return;
    }
    if (identity.inCluster) this.refuse(member, `${member.name} is a node of a Redis Cluster`);
    if (identity.runId === undefined) return;
    const same = this.servers.get(identity.runId);
    // One that has lost its connection since is looked at again itself.
    if (same !== undefined && same !== member && same.isExamined) {
      const [one, other] = [same.place + 1, member.place + 1].sort((a, b) => a - b);
      this.refuse(member, `masters ${one} and ${other} of connection are the same server`);
    }
    for (const [runId, known] of this.servers) if (known === member) this.servers.delete(runId);
    this.servers.set(identity.runId, member);
  }

  /** What is wrong from the start is a mistake of whoever wrote the options; what becomes wrong later may pass. */
  private refuse(member: Member, why: string): never {
    if (!member.wasAdmitted) {
      this.refusal ??= new LockConfigError(
        `${why}; Redlock needs independent masters: servers of their own that share nothing.`,
      );
      throw this.refusal;
    }
    if (!member.isExcluded)
      this.logger.warn(`${why} now: ${member.name} does not count until it leads to another one.`);
    throw new LockStoreError(`${why} now, so its votes count once`, { transient: true });
  }
}

const CANNOT_TELL =
  'the Redis user may not call INFO, so nobody checks whether the masters are servers of their own, outside of a Cluster';

/** What waits for an examination. */
interface Pending {
  send(): void;
  fail(error: unknown): void;
}

/** One of several masters. */
export class Member {
  /** How many ms its last answer took. */
  roundTrip = 0;
  private exclusion: { readonly why: unknown; readonly epoch: number; readonly until: number } | undefined;
  /** During which epoch of its connection it was examined last. */
  private examinedIn: number | undefined;
  private admission: Promise<void> | undefined;
  private readonly pending: Pending[] = [];
  private address: string | undefined;

  constructor(
    readonly store: QuorumMember,
    readonly place: number,
    private readonly membership: Membership,
  ) {}

  /** As the options and the network call it, without credentials. */
  get name(): string {
    return `master ${this.place + 1} of connection${this.address === undefined ? '' : ` (${this.address})`}`;
  }

  /** Whether it was found, when it was looked at last, to lead to a server that is no member of its own. */
  get isExcluded(): boolean {
    return this.exclusion !== undefined;
  }

  /** Whether it was known at some time to be a server of its own. */
  get wasAdmitted(): boolean {
    return this.examinedIn !== undefined;
  }

  /** Whether it is known to be one, on the connection that it has. */
  get isExamined(): boolean {
    return this.examinedIn === this.store.epoch;
  }

  /** Whether nothing that is asked has to wait for that, or for what waits already. */
  private get isOpen(): boolean {
    return this.isExamined && this.admission === undefined;
  }

  /** Resolves when it is known to be a server of its own; what has waited for that is sent before. */
  admit(): Promise<void> {
    if (this.isOpen) return Promise.resolve();
    this.admission ??= this.examine().then(
      () => this.flush((pending) => pending.send()),
      (error: unknown) => {
        this.flush((pending) => pending.fail(error));
        throw error;
      },
    );
    return this.admission;
  }

  /**
   * Asks it something: at once, so that what is sent arrives in its order, unless it has to be examined before.
   * @throws LockStoreError, without asking, while it has been out of reach for so long that it would only pile up
   */
  ask<T>(question: (store: QuorumMember) => Promise<T>): Promise<T> {
    const { unreachable } = this.store;
    return unreachable === undefined ? this.put(question, false) : Promise.reject(unreachable);
  }

  /**
   * As `ask`, also while it is out of reach: to give back what it was asked before, behind which this goes. It is sent
   * whatever has become of the connection since.
   */
  tell<T>(question: (store: QuorumMember) => Promise<T>): Promise<T> {
    return this.put(question, this.wasAdmitted);
  }

  /** What an answer has said of its clock. */
  noteTime(time: number, sent: number): void {
    this.roundTrip = this.membership.clock.now() - sent;
    this.membership.clocks.note(this.place, { time, sent, received: this.membership.clock.now() });
  }

  /** What its clock shows at a moment of ours, at the least; `undefined`: that is not known. */
  timeAt(moment: number): number | undefined {
    const { clock, clocks } = this.membership;
    return clocks.timeAt(this.place, moment, clock.now());
  }

  private put<T>(question: (store: QuorumMember) => Promise<T>, always: boolean): Promise<T> {
    const { refusal } = this.membership;
    if (refusal !== undefined) return Promise.reject(refusal);
    if (this.isOpen) return this.send(question);
    return new Promise((resolve, reject) => {
      const send = (): void => void this.send(question).then(resolve, reject);
      if (always && this.pending.length === 0) return send();
      this.pending.push({ send, fail: always ? send : reject });
      this.admit().catch(() => undefined);
    });
  }

  /** An answer on another connection, where the question was sent again, counts when that has been looked at, too. */
  private send<T>(question: (store: QuorumMember) => Promise<T>): Promise<T> {
    const { epoch } = this.store;
    return question(this.store).then((reply) => (epoch === this.store.epoch ? reply : this.admit().then(() => reply)));
  }

  private flush(each: (pending: Pending) => void): void {
    this.admission = undefined;
    for (const pending of this.pending.splice(0)) each(pending);
  }

  private async examine(): Promise<void> {
    const { clock, clocks } = this.membership;
    const { exclusion } = this;
    if (exclusion?.epoch === this.store.epoch && clock.now() < exclusion.until) throw exclusion.why;
    for (let examinations = 0; examinations < MOST_EXAMINATIONS; examinations += 1) {
      const { epoch } = this.store;
      const sent = clock.now();
      const identity = await this.store.identify();
      if (epoch !== this.store.epoch) continue;
      this.address = identity?.address;
      try {
        this.membership.examine(this, identity);
      } catch (error) {
        this.exclusion = { why: error, epoch, until: clock.now() + EXCLUDED_FOR };
        throw error;
      }
      this.exclusion = undefined;
      this.examinedIn = epoch;
      clocks.forget(this.place);
      if (identity?.time !== undefined) this.noteTime(identity.time, sent);
      return;
    }
    throw new LockStoreError(`${this.name} lost its connection whenever it was asked who it is`, { transient: true });
  }
}
