import type { Clock } from '../../common/clock.js';
import type { LockLogger } from '../../common/logger.js';
import { isLockConfigError, LockConfigError, LockStoreError } from '../../errors/index.js';
import type { QuorumMember, ServerIdentity } from '../quorum-member.js';
import { MasterClocks } from './master-clocks.js';

/** For how many ms a master that cannot be a member is not examined again. */
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
  private hasWarned = false;

  constructor(
    stores: readonly QuorumMember[],
    readonly logger: LockLogger,
    readonly clock: Clock,
  ) {
    this.members = stores.map((store, index) => new Member(store, index, this));
    this.clocks = new MasterClocks(logger);
  }

  /** Why these masters cannot form a quorum, once that is known. */
  get refusal(): LockConfigError | undefined {
    return this.members.map(({ exclusion }) => exclusion?.why).find(isLockConfigError);
  }

  /** Checks again the masters that were refused: their addresses may lead to other servers now. */
  recheck(): void {
    for (const member of this.members) {
      if (member.exclusion !== undefined) member.admit().catch(() => undefined);
    }
  }

  /** Why a master with this identity cannot be a member; `undefined`: it can. */
  problemOf(member: Member, identity: ServerIdentity | undefined): string | undefined {
    if (identity === undefined) {
      if (!this.hasWarned) this.logger.warn(CANNOT_TELL);
      this.hasWarned = true;
      return undefined;
    }
    if (identity.inCluster) return `${member.name} is a node of a Redis Cluster`;
    // A member that has lost its connection since has to be examined again itself.
    const isSame = (other: Member): boolean => other !== member && other.server === identity.runId && other.isExamined;
    const same = identity.runId === undefined ? undefined : this.members.find(isSame);
    if (same === undefined) return undefined;
    const [one, other] = [same.index + 1, member.index + 1].sort((a, b) => a - b);
    return `masters ${one} and ${other} of connection are the same server`;
  }
}

const CANNOT_TELL =
  'the Redis user may not call INFO, so it is not checked whether the masters are separate servers, outside of a Cluster';

/** Why a master cannot be a member as long as it has this connection, and until when that is not checked again. */
interface Exclusion {
  readonly why: LockConfigError | LockStoreError;
  readonly epoch: number;
  readonly until: number;
}

/** One of several masters. */
export class Member {
  /** How many ms its last reply took. */
  roundTrip = 0;
  exclusion: Exclusion | undefined;
  /** The `run_id` of the server to which it led when it was examined last; `undefined`: the server does not say. */
  server: string | undefined;
  /** The epoch of the connection on which it was examined last. */
  private examinedIn: number | undefined;
  private admission: Promise<void> | undefined;
  /** How many requests wait for an examination. */
  private waiting = 0;
  private address: string | undefined;

  constructor(
    readonly store: QuorumMember,
    readonly index: number,
    private readonly membership: Membership,
  ) {}

  /** Its name in the options and its address, without credentials. */
  get name(): string {
    return `master ${this.index + 1} of connection${this.address === undefined ? '' : ` (${this.address})`}`;
  }

  /** Whether its current connection is known to lead to a separate server. */
  get isExamined(): boolean {
    return this.examinedIn === this.store.epoch;
  }

  /** Whether it was ever found to be a separate server. */
  private get wasAdmitted(): boolean {
    return this.examinedIn !== undefined;
  }

  /** Resolves when the master is known to be a separate server. Requests that waited for that are sent first. */
  admit(): Promise<void> {
    if (this.isExamined && this.admission === undefined) return Promise.resolve();
    this.admission ??= this.examine().finally(() => (this.admission = undefined));
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
   * Like `ask`, but even while the master is unreachable: for a release, which follows the earlier request. It is sent
   * even if the connection has been lost since.
   */
  tell<T>(question: (store: QuorumMember) => Promise<T>): Promise<T> {
    return this.put(question, this.wasAdmitted);
  }

  /** Records the time of the master's clock in a reply. */
  noteTime(time: number, sent: number): void {
    const received = this.membership.clock.now();
    this.roundTrip = received - sent;
    this.membership.clocks.note(this, { time, sent, received });
  }

  /** The earliest time that its clock can show at a moment of the client's clock; `undefined`: unknown. */
  timeAt(moment: number): number | undefined {
    const { clock, clocks } = this.membership;
    return clocks.timeAt(this, moment, clock.now());
  }

  private put<T>(question: (store: QuorumMember) => Promise<T>, always: boolean): Promise<T> {
    const isAdmitted = this.isExamined && this.admission === undefined;
    if (this.waiting === 0 && (isAdmitted || always)) return this.send(question);
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

  /**
   * Checks which server the master leads to. This is repeated for each new connection, since an address may lead to another
   * server later.
   * @throws LockConfigError if the master can never be a member; LockStoreError if it does not answer, or cannot be a member
   * at the moment
   */
  private async examine(): Promise<void> {
    const { exclusion } = this;
    const { clock, clocks } = this.membership;
    if (exclusion?.epoch === this.store.epoch && clock.now() < exclusion.until) throw exclusion.why;
    for (let examinations = 0; examinations < MOST_EXAMINATIONS; examinations += 1) {
      const { epoch } = this.store;
      const sent = clock.now();
      const identity = await this.store.identify();
      if (epoch !== this.store.epoch) continue;
      this.address = identity?.address;
      const problem = this.membership.problemOf(this, identity);
      if (problem !== undefined) {
        this.exclusion = { why: this.refusal(problem), epoch, until: clock.now() + EXCLUDED_FOR };
        throw this.exclusion.why;
      }
      this.exclusion = undefined;
      this.examinedIn = epoch;
      this.server = identity?.runId;
      clocks.forget(this);
      if (identity?.time !== undefined) this.noteTime(identity.time, sent);
      return;
    }
    throw new LockStoreError(`${this.name} lost its connection each time it was asked to identify itself`, {
      transient: true,
    });
  }

  /**
   * A problem that exists from the start is a mistake in the options, until the address leads to another server. A
   * problem that appears later may be temporary.
   */
  private refusal(problem: string): LockConfigError | LockStoreError {
    const { hasStarted, logger } = this.membership;
    if (!this.wasAdmitted && !hasStarted) {
      return new LockConfigError(`${problem}; Redlock needs independent masters: separate servers that share nothing.`);
    }
    if (this.exclusion === undefined)
      logger.warn(`${problem} now: ${this.name} does not count until it leads to another server.`);
    return new LockStoreError(`${problem} now, so its votes count once`, { transient: true });
  }
}
