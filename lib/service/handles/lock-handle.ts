import type { Duration } from '../../common/duration.js';

/**
 * One acquired lock. Give it back with `release()`, or let `await using` do so:
 *
 * ```ts
 * await using lock = await locks.acquire('stock:42');
 * ```
 *
 * Whether it is still held is told three ways: `signal` aborts the moment it is lost, `isHeld` and `assertHeld()` look
 * at the monotonic clock without asking Redis, and `verify()` asks Redis.
 */
export interface LockHandle extends AsyncDisposable {
  /** The key; of a lock over several keys the first one. */
  readonly key: string;
  /** All keys, in the order in which they were given. */
  readonly keys: readonly string[];
  /**
   * Who holds the lock: the owner given with the call, or an identity made for this acquisition alone. Several keys have the
   * same owner, except for keys that the scope around the call holds already: those keep theirs.
   */
  readonly owner: string;
  /** In which way it is held: alone, together with other readers, or with permits of a semaphore. */
  readonly type: 'exclusive' | 'read' | 'permits';
  /**
   * Larger than that of every earlier holder of this key. Send it along with each write and let the resource refuse
   * anything below the largest it has seen: that is what makes a late holder harmless (Kleppmann's fencing token). Of
   * several keys: that of the first; `fencingTokens` has them all.
   */
  readonly fencingToken: number;
  /** The fencing token of each key. */
  readonly fencingTokens: ReadonlyMap<string, number>;
  /** Aborts, with a `LockLostError` as its reason, before anybody else can hold the key. Hand it to what you await. */
  readonly signal: AbortSignal;
  /** Whether the lock is held now. No I/O; right on the first line after the process was stalled, too. */
  readonly isHeld: boolean;
  /** How often this owner holds the key at the moment, this handle included; 0 once it is over. */
  readonly holdCount: number;
  /** Milliseconds for which the lock is certain to be held if no renewal gets through; 0 once it is over. */
  remainingTime(): number;
  /**
   * Goes on only while the lock is held. No I/O.
   * @throws LockLostError when it is not, or when the machine seems to have slept and Redis has not confirmed yet
   */
  assertHeld(): void;
  /**
   * Asks Redis whether the lock is still held: call it right before a commit. A lock that was taken with `replicas` is
   * confirmed by so many of them, within the same time.
   * @throws LockLostError when it is not; LockStoreError when Redis, or too few replicas, answer
   */
  verify(): Promise<void>;
  /**
   * Sets the lease anew: from now on `lease` (milliseconds, or `'30s'`), longer or shorter than what was left. A lock
   * that renews itself goes on doing so.
   * @throws LockLostError when it is not held any more; LockStoreError when Redis does not answer
   */
  extend(lease: Duration): Promise<void>;
  /**
   * Gives the lock back; a second call changes nothing. `true`: it was held to the end and is free now (or one hold of
   * several has ended). `false`: it had been lost, which never throws.
   * @throws LockStoreError when Redis does not answer: renewal has stopped then, so the lease ends by itself
   */
  release(): Promise<boolean>;
}
