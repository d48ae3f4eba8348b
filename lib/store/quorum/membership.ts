import type { Clock } from '../../common/clock.js';
import type { LockLogger } from '../../common/logger.js';
import { LockConfigError, LockStoreError } from '../../errors/index.js';
import type { QuorumMember, ServerIdentity } from '../quorum-member.js';
import { MasterClocks } from './master-clocks.js';

/** For how many ms a master that leads to the server of another one is not examined again. */
const EXCLUDED_FOR = 1_000;
/** How many times an examination may be interrupted by a lost connection. */
const MOST_EXAMINATIONS = 5;

/**
 * The masters of a quorum, and whether they can be its members. Each has to be a separate server, outside of a Cluster.
 */
export class Membership {
  readonly members: readonly Member[];
  readonly clocks: MasterClocks;
  /** Whether a majority of separate servers has been found. From then on, a problem of another master may be temporary. */
  hasStarted = false;
  private readonly refused = new Map<Member, LockConfigError>();
  private warned = false;

  constructor(
    stores: readonly QuorumMember[],
    private readonly logger: LockLogger,
    readonly clock: Clock,
  ) {
    this.members = stores.map((store, place) => new Member(store, place, this));
    this.clocks = new MasterClocks((place) => this.members[place]!.name, logger);
  }

  /** Why these masters cannot form a quorum, once that is known. */
  get refusal(): LockConfigError | undefined {
    return this.refused.values().next().value;
  }

  /** Checks again the masters that were refused: their addresses may lead to other servers now. */
  recheck(): void {
    for (const member of this.refused.keys()) member.admit().catch(() => undefined);
  }

  /**
   * Checks which server a master leads to. This is repeated for each new connection, since an address may lead to
   * another server later.
   * @throws LockConfigError if a master can never be a member; LockStoreError if it does not answer, or cannot be a
   * member at the moment
   */
  examine(member: Member, identity: ServerIdentity | undefined): void {
    if (identity === undefined) {
      if (!this.warned) this.logger.warn(CANNOT_TELL);
      this.warned = true;
      return;
    }
    if (identity.inCluster) this.refuse(member, `${member.name} is a node of a Redis Cluster`);
    if (identity.runId === undefined) return void this.refused.delete(member);
    // A member that has lost its connection since has to be examined again itself.
    const same = this.members.find((other) => other !== member && other.server === identity.runId && other.isExamined);
    if (same !== undefined) {
      const [one, other] = [same.place + 1, member.place + 1].sort((a, b) => a - b);
      this.refuse(member, `masters ${one} and ${other} of connection are the same server`);
    }
    this.refused.delete(member);
  }

  /**
   * A problem that exists from the start is a mistake in the options, until the address leads to another server. A
   * problem that appears later may be temporary.
   */
  private refuse(member: Member, why: string): never {
    if (!member.wasAdmitted && !this.hasStarted) {
      const refusal = new LockConfigError(
        `${why}; Redlock needs independent masters: separate servers that share nothing.`,
      );
      this.refused.set(member, refusal);
      throw refusal;
    }
    this.refused.delete(member);
    if (!member.isExcluded)
      this.logger.warn(`${why} now: ${member.name} does not count until it leads to another server.`);
    throw new LockStoreError(`${why} now, so its votes count once`, { transient: true });
  }
}

const CANNOT_TELL =
  'the Redis user may not call INFO, so it is not checked whether the masters are separate servers, outside of a Cluster';

/** One of several masters. */
export class Member {
  /** How many ms its last reply took. */
  roundTrip = 0;
  private exclusion: { readonly why: unknown; readonly epoch: number; readonly until: number } | undefined;
  /** The epoch of the connection on which it was examined last. */
  private examinedIn: number | undefined;
  private admission: Promise<void> | undefined;
  /** How many requests wait for an examination. */
  private waiting = 0;
  private address: string | undefined;
  /** The `run_id` of the server to which it led when it was examined last; `undefined`: the server does not say. */
  server: string | undefined;

  constructor(
    readonly store: QuorumMember,
    readonly place: number,
    private readonly membership: Membership,
  ) {}

  /** Its name in the options and its address, without credentials. */
  get name(): string {
    return `master ${this.place + 1} of connection${this.address === undefined ? '' : ` (${this.address})`}`;
  }

  /** Whether the last examination found that it leads to a server that counts already. */
  get isExcluded(): boolean {
    return this.exclusion !== undefined;
  }

  /** Whether it was ever found to be a separate server. */
  get wasAdmitted(): boolean {
    return this.examinedIn !== undefined;
  }

  /** Whether its current connection is known to lead to a separate server. */
  get isExamined(): boolean {
    return this.examinedIn === this.store.epoch;
  }

  /** Whether a request can be sent without waiting for an examination, or for earlier requests. */
  private get isOpen(): boolean {
    return this.isExamined && this.admission === undefined && this.waiting === 0;
  }

  /** Resolves when the master is known to be a separate server. Requests that waited for that are sent first. */
  admit(): Promise<void> {
    if (this.isExamined && this.admission === undefined) return Promise.resolve();
    this.admission ??= this.examine().then(
      () => void (this.admission = undefined),
      (error: unknown) => {
        this.admission = undefined;
        throw error;
      },
    );
    return this.admission;
  }

  /**
   * Sends a request. It goes out at once to keep the order of requests, unless the master has to be examined first.
   * @throws LockStoreError without sending it, if the master has been unreachable for so long that requests would pile
   * up
   */
  ask<T>(question: (store: QuorumMember) => Promise<T>): Promise<T> {
    const { unreachable } = this.store;
    return unreachable === undefined ? this.put(question, false) : Promise.reject(unreachable);
  }

  /**
   * Like `ask`, but also while the master is unreachable: for a release, which follows the earlier request. It is sent
   * even if the connection has been lost since.
   */
  tell<T>(question: (store: QuorumMember) => Promise<T>): Promise<T> {
    return this.put(question, this.wasAdmitted);
  }

  /** Records the time of the master's clock in a reply. */
  noteTime(time: number, sent: number): void {
    this.roundTrip = this.membership.clock.now() - sent;
    this.membership.clocks.note(this.place, { time, sent, received: this.membership.clock.now() });
  }

  /** The earliest time that its clock can show at a moment of the client's clock; `undefined`: unknown. */
  timeAt(moment: number): number | undefined {
    const { clock, clocks } = this.membership;
    return clocks.timeAt(this.place, moment, clock.now());
  }

  private put<T>(question: (store: QuorumMember) => Promise<T>, always: boolean): Promise<T> {
    const { refusal } = this.membership;
    if (refusal !== undefined) {
      this.membership.recheck();
      return Promise.reject(refusal);
    }
    if (this.isOpen || (always && this.waiting === 0)) return this.send(question);
    this.waiting += 1;
    // Requests go out in their order, even if a new request comes before all of them are sent.
    const settled = (error?: unknown): Promise<T> => {
      this.waiting -= 1;
      return error === undefined || always ? this.send(question) : Promise.reject(error);
    };
    return this.admit().then(settled, settled);
  }

  /**
   * ioredis may send the request again on another connection. Then the reply counts after that connection has been
   * examined, too.
   */
  private async send<T>(question: (store: QuorumMember) => Promise<T>): Promise<T> {
    const sent = this.store.epoch;
    const reply = await question(this.store);
    const { epoch } = this.store;
    if (epoch === sent) return reply;
    await this.admit();
    if (this.examinedIn === epoch) return reply;
    throw new LockStoreError(`${this.name} lost its connection before it was known which server had replied`, {
      transient: true,
    });
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
      this.server = identity?.runId;
      clocks.forget(this.place);
      if (identity?.time !== undefined) this.noteTime(identity.time, sent);
      return;
    }
    throw new LockStoreError(`${this.name} lost its connection each time it was asked to identify itself`, {
      transient: true,
    });
  }
}
