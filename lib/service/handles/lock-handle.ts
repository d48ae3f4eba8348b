import type { Duration } from '../../common/duration.js';

/**
 * One acquired lock. Release it with `release()`, or with `await using`:
 *
 * ```ts
 * await using lock = await locks.acquire('stock:42');
 * ```
 *
 * There are three ways to learn whether the lock is still held: `signal` aborts when it is lost, `isHeld` and
 * `assertHeld()` compare clocks without asking Redis, and `verify()` asks Redis.
 */
export interface LockHandle extends AsyncDisposable {
  /** The key; for a lock over several keys, the first one. */
  readonly key: string;
  /** All keys, in the order of the call. */
  readonly keys: readonly string[];
  /**
   * The owner of the lock: the `owner` of the call, or an identity of this acquisition alone. Several keys have the same
   * owner, except keys that the scope around the call holds already: those keep theirs.
   */
  readonly owner: string;
  /** The kind: exclusive, together with other readers, or permits of a semaphore. */
  readonly kind: 'exclusive' | 'read' | 'permits';
  /** How many permits of a semaphore it has now; 0 for the other kinds. */
  readonly units: number;
  /**
   * Larger than the number of each earlier holder of this key that excludes this one. Send it with each write, and let
   * the resource refuse a number below the largest that it has seen: then a late holder does no harm (Kleppmann's fencing
   * token). For several keys, the token of the first one; `fencingTokens` has all. The clocks of the Redis servers must
   * meet conditions: see docs/transactions.md#when-tokens-grow.
   * @throws LockConfigError if the protocol keeps no tokens (Redisson's plain `RLock`)
   */
  readonly fencingToken: number;
  /** The fencing token of each key; none for a key without a token. */
  readonly fencingTokens: ReadonlyMap<string, number>;
  /** Aborts with a `LockLostError` before another client can hold the key. Pass it to the calls that you await. */
  readonly signal: AbortSignal;
  /** Whether the lock is held now. No I/O. Correct even right after the event loop was blocked. */
  readonly isHeld: boolean;
  /** How often this owner holds the key now, this handle included; 0 after the lock has ended. */
  readonly holdCount: number;
  /** For how many ms the lock is certain to be held if no renewal succeeds; 0 after the lock has ended. */
  remainingTime(): number;
  /**
   * Throws unless the lock is held. No I/O.
   * @throws LockLostError if the lock is not held any more
   */
  assertHeld(): void;
  /**
   * Asks Redis whether the lock is still held. Call it right before a commit. If the lock was acquired with `replicas`,
   * the same number of replicas must confirm it within the same time.
   * @throws LockLostError if the lock is not held any more; LockStoreError if Redis does not answer, or too few replicas do
   */
  verify(): Promise<void>;
  /**
   * Extends the lease to at least `lease` (milliseconds, or `'30s'`) from now on. If more of it is left, nothing changes.
   * Automatic renewal continues.
   * @throws LockLostError if the lock is not held any more; LockStoreError if Redis does not answer
   */
  extend(lease: Duration): Promise<void>;
  /**
   * Hands the lock over to another process, which continues the work under it. Resolves to a text for `adopt` of that
   * process. This handle ends at once: it is not held any more, is not renewed, and its release has no effect. The key
   * stays locked for `within` (milliseconds, or `'1m'`), counted from now on. If no process adopts the lock by then, it
   * expires. Without `within`: the lease of a renewed lock, or the rest of a fixed lease. After a `LockStoreError` call
   * it again: the second call repeats the first.
   *
   * The text is a credential, because any process that has it can adopt the lock. Do not log it.
   * @throws LockConfigError if the lock cannot be handed over: several keys, a hold that is shared by re-entry, an `owner`,
   *   `holdAtLeast`. Then the handle stays as it is, unless another process holds the lock under the same owner: then it is
   *   lost. LockLostError if the lock is not held any more; LockStoreError if Redis does not answer
   */
  handOver(within?: Duration): Promise<string>;
  /**
   * Releases some of the permits of a semaphore, and keeps the rest: `releaseUnits(2)`. Each call releases that many more;
   * the last permits are released as by `release()`. A command that the network repeats releases nothing twice. With several
   * keys, it releases that many permits of each.
   * @throws LockConfigError if it is no semaphore, or has fewer permits; LockLostError if they are not held any more;
   * LockStoreError if Redis does not answer. The permits no longer belong to the handle then, and the command is repeated
   * while the rest is held
   */
  releaseUnits(units: number): Promise<void>;
  /**
   * Releases the lock; a second call has no effect. Resolves to `true` if the lock was held until now, and to `false` if it
   * had been lost.
   * @throws LockStoreError if Redis does not confirm the release. Renewal has stopped. The client tries again in the
   *   background until the lease ends, unless Redis has refused the command
   */
  release(): Promise<boolean>;
}
