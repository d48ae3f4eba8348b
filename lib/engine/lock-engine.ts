import { orAborted } from '../common/abort.js';
import { TimerQueue } from '../common/timer-queue.js';
import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import { TransientMap } from '../common/transient.js';
import { LockConfigError, LockStoreError } from '../errors/index.js';
import type { ListReply, ListRequest } from '../store/key-list.js';
import type {
  ForceReleaseReply,
  LockStore,
  LockStoreListener,
  PushedGrant,
  ReleaseReply,
  ReleaseRequest,
  StoredLock,
} from '../store/lock-store.js';
import { EventPublisher, type EventSink } from './event-publisher.js';
import type { Grant, Hold, HoldTerms, ReplicaTerms } from './hold.js';
import { HoldRegistry } from './hold-registry.js';
import { Latches } from './latches.js';
import type { AcquireQueue, BatchLimits } from './acquire-queue.js';
import { acquireSet, type LockSetEnvironment } from './lock-set.js';
import { Releases } from './releases.js';
import type { WaitTerms } from './waiter.js';
import { AcquireQueues, type AcquireQueuesEnvironment } from './acquire-queues.js';

export type { ListReply, ListRequest, StoredLock };

/** What the engine is made of and told. */
export interface LockEngineParts {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: LockLogger;
  readonly events: EventSink;
  /** ms */
  readonly commandTimeout: number;
  /** ms */
  readonly grantTimeout: number;
  readonly localTurns: BatchLimits;
}

/**
 * The engine: acquisitions in, holds out. It knows who waits and who holds in this client, and hands what the store
 * pushes to whom it concerns.
 */
export class LockEngine implements AcquireQueuesEnvironment, LockSetEnvironment, LockStoreListener {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: LockLogger;
  readonly commandTimeout: number;
  readonly grantTimeout: number;
  readonly localTurns: BatchLimits;
  readonly timers: TimerQueue;
  readonly publisher: EventPublisher;
  /** Whether the store can count permits. */
  readonly keepsPermits: boolean;
  /** `undefined`: the store keeps none. */
  readonly latches: Latches | undefined;

  readonly holds: HoldRegistry<AcquireQueue>;
  readonly askedAtOnce = new Set<string>();

  private readonly releases: Releases;
  /** Releases that have been sent and are not answered yet, by the acquisitions that they give back. */
  private readonly givingBack = new TransientMap<string, Promise<ReleaseReply>>();
  private readonly waiting: AcquireQueues;
  private lastId = 0;
  private closing: LockStoreError | undefined;
  private readonly closed = new AbortController();

  constructor({ store, clock, random, logger, events, ...times }: LockEngineParts) {
    this.store = store;
    this.clock = clock;
    this.random = random;
    this.logger = logger;
    this.commandTimeout = times.commandTimeout;
    this.grantTimeout = times.grantTimeout;
    this.localTurns = times.localTurns;
    this.timers = new TimerQueue(clock);
    this.publisher = new EventPublisher(events, clock, logger);
    this.releases = new Releases(store, clock, this.timers, logger);
    this.holds = new HoldRegistry(this);
    this.waiting = new AcquireQueues(this);
    this.keepsPermits = store.keepsPermits;
    this.latches = store.latches && new Latches(store.latches, this);
    store.listen(this);
  }

  /**
   * Waits for a hold.
   * @throws LockTimeoutError, LockStoreError, or the reason of the caller's signal
   */
  acquire(terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    const refusal = this.refusal(wait.signal);
    if (refusal !== undefined) return Promise.reject(refusal);
    const { replicas } = terms;
    const waiting = this.waiting.wait(terms, wait);
    return replicas === undefined ? waiting : waiting.then((hold) => this.replicated(hold, replicas, wait.signal));
  }

  /**
   * Takes several keys, all or none; in the order of `set`.
   * @throws as `acquire` does, with nothing kept
   */
  async acquireAll(set: readonly HoldTerms[], wait: WaitTerms): Promise<Hold[]> {
    const refusal = this.refusal(wait.signal);
    if (refusal !== undefined) throw refusal;
    return acquireSet(this, set, wait);
  }

  /**
   * Gives a hold back; answers whether it was held until now.
   * @throws LockStoreError when the store does not answer
   */
  release(hold: Hold): Promise<boolean> {
    hold.release ??= this.giveBack(hold);
    return hold.release;
  }

  /**
   * Asks the store whether a hold still stands.
   * @throws LockLostError, LockStoreError
   */
  verify(hold: Hold): Promise<void> {
    return this.holds.verify(hold);
  }

  /**
   * Sets the lease of a hold anew, in ms from now on.
   * @throws LockLostError, LockStoreError
   */
  extend(hold: Hold, lease: number): Promise<void> {
    return this.holds.extend(hold, lease);
  }

  /** Nobody is going to release this hold: it ends with its lease. `why` is what is told of that, in words that begin with the key. */
  abandon(hold: Hold, why?: string): void {
    this.holds.abandon(hold, why);
  }

  /** How often the owner of a hold has its key in this client. */
  holdCount(hold: Hold): number {
    return this.holds.countOf(hold);
  }

  /** A release that failed where nobody could be told. */
  reportFailedRelease(hold: Hold, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.logger.warn(`'${hold.key}' could not be released, so it ends with its lease: ${why}`);
  }

  forceRelease(key: string): Promise<ForceReleaseReply> {
    this.waiting.endTurns(key);
    return this.store.forceRelease(key);
  }

  setLimit(key: string, permits: number): Promise<void> {
    return this.store.setLimit(key, permits);
  }

  /** Of those who have it in turn the store knows the first one only; here it is known who has it now. */
  async inspect(key: string): Promise<StoredLock> {
    const stored = await this.store.inspect(key);
    return {
      ...stored,
      holds: stored.holds.map((hold) => ({ ...hold, token: this.holds.get(hold.id)?.token ?? hold.token })),
    };
  }

  /** @throws LockStoreError; LockConfigError where the store cannot list */
  async list(request: ListRequest): Promise<ListReply> {
    if (this.store.list === undefined) {
      throw new LockConfigError(
        'this store cannot list its locks: it has no `list`, which is what tells which keys there are.',
      );
    }
    return this.store.list(request);
  }

  start(): Promise<void> {
    return this.store.start();
  }

  /** Refuses new acquisitions and dismisses all who wait. */
  stopWaiting(): void {
    this.closing ??= new LockStoreError('the application is shutting down: no lock is given any more');
    this.closed.abort(this.closing);
    this.waiting.dismissAll(this.closing);
    this.latches?.stopWaiting(this.closing);
  }

  /** Waits at most `timeout` ms for those who hold something, takes the rest from them, and disconnects. */
  async close(timeout: number): Promise<void> {
    this.stopWaiting();
    await this.holds.idle(timeout);
    for (const hold of this.holds.all()) {
      hold.lose('the application has shut down, and its holder had not released it by then');
      const { key, id } = hold;
      this.send({ key, id, remember: 0, keep: this.keepOf(hold), next: undefined });
    }
    await this.releases.settled(Math.min(this.commandTimeout, 1_000));
    this.timers.clear();
    await this.store.close();
  }

  // What the store tells.

  granted(grant: PushedGrant): void {
    const ticket = this.waiting.ticket(grant.id);
    if (ticket !== undefined) ticket.pushed(grant);
    else this.disown(grant.key, [grant.id]);
  }

  askIn(id: string, delay: number): void {
    this.waiting.ticket(id)?.askIn(delay);
  }

  revoked(id: string, token = Infinity): void {
    const hold = this.holds.get(id);
    // Word of an earlier grant of this acquisition may come late.
    if (hold !== undefined && token >= hold.firstToken) hold.lose('it was released by force');
    this.waiting.ticket(id)?.revoked();
  }

  yield(id: string): void {
    this.holds.originOf(id)?.endTurns();
    this.waiting.ticket(id)?.yield();
  }

  opened(key: string, latch: string): void {
    this.latches?.opened(key, latch);
  }

  restored(): void {
    this.holds.askNow();
    // Behind the renewals, which go out together in a microtask: a hold that nobody renews may end, a place does not.
    queueMicrotask(() => {
      this.waiting.askNow();
      this.latches?.askNow();
    });
  }

  // What the waiting room and sets of locks need.

  nextId(): string {
    this.lastId += 1;
    return `${this.store.clientId}:${this.lastId}`;
  }

  disown(key: string, ids: readonly string[]): void {
    for (const id of ids) {
      if (!id.startsWith(`${this.store.clientId}:`) || this.knows(id)) continue;
      // In a Cluster a leave may pass a release that was sent before it, which would then find nothing to give back.
      const release = this.givingBack.get(id);
      const again = (): void => this.disown(key, [id]);
      if (release === undefined) this.leave(key, id, 0);
      else release.then(again, again);
    }
  }

  disownHolders(key: string, holders: readonly string[]): void {
    this.disown(
      key,
      holders.filter((id) => !this.givingBack.has(id)),
    );
  }

  leave(key: string, id: string, remember: number): void {
    this.send({ key, id, remember, keep: 0, next: undefined });
  }

  get closingSignal(): AbortSignal {
    return this.closed.signal;
  }

  adopt(terms: HoldTerms, grant: Grant): Hold {
    const hold = this.holds.add(undefined, terms, grant);
    this.publisher.acquired(hold, grant.from);
    return hold;
  }

  private knows(id: string): boolean {
    return this.holds.get(id) !== undefined || this.waiting.ticket(id) !== undefined || this.askedAtOnce.has(id);
  }

  /** Why nobody is let in now. */
  private refusal(signal: AbortSignal | undefined): Error | undefined {
    // Those who wait already are given a commandTimeout for Redis to come back; who comes now would only pile up.
    return this.closing ?? this.store.unreachable ?? (signal?.aborted === true ? (signal.reason as Error) : undefined);
  }

  /** @throws LockStoreError or LockLostError, with the hold given back, when too few replicas have it, or have it too late */
  private async replicated(hold: Hold, { min, timeout }: ReplicaTerms, signal: AbortSignal | undefined): Promise<Hold> {
    const { key, id } = hold;
    try {
      const replicas = await orAborted(this.store.replicate({ key, id, min, timeout }), signal);
      if (!hold.isHeld) throw hold.loss!;
      if (replicas >= min) return hold;
      const message = `${replicas} of at least ${min} replicas had '${key}' after ${timeout} ms, so it was given back`;
      throw new LockStoreError(message, { key, transient: true });
    } catch (error) {
      // Nobody has done anything under it, so there is nothing to keep it for.
      hold.terms = { ...hold.terms, holdAtLeast: 0 };
      await this.release(hold).catch(() => undefined);
      throw error;
    }
  }

  private async giveBack(hold: Hold): Promise<boolean> {
    const { store, clock } = this;
    const { key, id } = hold;
    if (!hold.end()) {
      // The store may have it still; what it says changes nothing for the caller, who is not kept waiting.
      this.leave(key, id, this.memoryFor(hold));
      return false;
    }
    // Renewing stops before the release is sent, or a failing release would leave a renewal that goes on for ever.
    const queue = this.holds.remove(hold);
    if (queue?.passOn(hold) === true) return true;
    const next = queue?.releasing(hold);
    const remember = this.memoryFor(hold);
    const sent = clock.now();
    const { epoch } = store;
    const request = { key, id, remember, keep: this.keepOf(hold), next: next?.request() };
    const answer = this.releases.send(request, hold.validUntil);
    next?.askedBy(
      answer.then((reply) => reply.next as NonNullable<typeof reply.next>),
      sent,
      epoch,
    );
    let reply: ReleaseReply;
    this.givingBack.set(id, answer);
    try {
      reply = await answer;
    } catch (error) {
      this.publisher.unreleased(hold, (error as Error).message);
      throw error;
    } finally {
      this.givingBack.delete(id);
    }
    // A release whose reply was lost is sent again, and finds nothing the second time.
    if (!reply.released && store.epoch === epoch) {
      hold.lose('Redis did not know it any more when it was released');
      return false;
    }
    this.publisher.released(hold);
    return true;
  }

  /**
   * For how many ms it is to be remembered that what was granted has been given back: a question from before a reconnect
   * may be executed yet, after that.
   */
  memoryFor({ epoch }: Pick<Grant, 'epoch'>): number {
    return epoch === this.store.epoch ? 0 : 2 * this.commandTimeout;
  }

  /** For how many ms more the key is to stay taken. */
  private keepOf({ acquiredAt, terms }: Hold): number {
    return Math.max(0, Math.ceil(acquiredAt + terms.holdAtLeast - this.clock.now()));
  }

  /** What a log shows of it, and of everything that refers to it. */
  toJSON(): { client: string; held: number } {
    return { client: this.store.clientId, held: this.holds.all().length };
  }

  [Symbol.for('nodejs.util.inspect.custom')](): object {
    return this.toJSON();
  }

  /** Sends a release that nobody waits for. */
  private send(request: ReleaseRequest): void {
    this.releases.send(request, this.clock.now() + 2 * this.commandTimeout).catch(() => undefined);
  }
}
