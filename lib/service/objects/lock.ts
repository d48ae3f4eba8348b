import type { Duration } from '../../common/duration.js';
import type { AcquireOptions } from '../../options/acquire-options.js';
import type { OptionIn } from '../../options/option-table.js';
import type { LockHandle } from '../handles/lock-handle.js';

/** The owner of a `Lock` object, and its name in metrics. */
export interface LockObjectOptions {
  /**
   * An identity of your own: all callers with the same owner hold the key together, in any context and process, like a
   * thread of Redisson. Without it, `unlock()` releases what was taken through this object in the same context.
   */
  owner?: string;
  /** What stands for the key in metrics, such as `'stock:*'`: the same text for all keys of one kind. */
  pattern?: string;
}

/** How one call through a `Lock` object acquires; what the object itself says of it cannot be given anew. */
export type LockCallOptions = Pick<AcquireOptions, OptionIn<'lock'>>;

/** The two locks of one key: many may read at a time, or one may write. */
export interface ReadWriteLock {
  readLock(): Lock;
  writeLock(): Lock;
}

/**
 * The shape of `java.util.concurrent.locks.Lock` and of Redisson's `RLock`, for those who come from there.
 *
 * The context takes the place of the thread: the innermost locked method, `run`, request or message around the call. A method
 * of this object releases and counts only what was taken through this object in the same context (or by the same `owner`), so
 * an object in the field of a provider serves requests that overlap. Outside of any context (schedules, queue consumers) calls
 * through one object must not overlap: the second one is refused.
 *
 * A lock that is not unlocked when its request or scope ends is not renewed any more, with one warning. The same happens when
 * `unlock()` is refused because it may be that of another call. Use `LockService.acquire` for a lock that outlives its request.
 */
export interface Lock {
  /** The key; of a lock over several keys the first one. */
  readonly key: string;
  /**
   * Waits for the lock and takes it. It does not re-enter what this object holds, but what the scope around the call holds.
   * @throws LockConfigError when another call through this object overlaps and neither has a context of its own;
   * LockTimeoutError after `waitTimeout` (default of the module: 10 s), and all else that `LockService.acquire` does:
   * of several keys LockLostError, when one is lost while another is waited for
   */
  lock(options?: LockCallOptions): Promise<LockHandle>;
  /**
   * Takes the lock if it can within `waitTime` (default 0: one try), else answers `null`. `leaseTime` 0 or left out:
   * renewed for as long as it is held.
   * @throws LockConfigError as `lock` does, and when a call of the same context holds the lock through this object
   */
  tryLock(waitTime?: Duration, leaseTime?: Duration): Promise<LockHandle | null>;
  /**
   * Releases what was taken last through this object in this context, or by its owner. It never releases the lock of a
   * scope, which ends with the scope.
   * @throws LockNotHeldError when that is nothing, when it had been lost, or when it may be what another call took: that is
   * not renewed any more then, and ends with its lease unless its handle is released
   */
  unlock(): Promise<void>;
  /** Frees the key, whoever holds it, and tells the holder. `true`: it was held. */
  forceUnlock(): Promise<boolean>;
  /** Whether anybody holds the key (of several keys: each of them): reading, if this is a read lock, and else alone. */
  isLocked(): Promise<boolean>;
  /** Whether this context holds the key: through this object, or as the lock of its scope. No I/O. */
  isHeldByCurrentContext(): boolean;
  /** Whether that owner holds the key. */
  isHeldBy(owner: string): Promise<boolean>;
  /** How often this context holds the key. No I/O. */
  getHoldCount(): number;
  /** Milliseconds until Redis frees the key if nobody is heard of; -2 when it is not locked. */
  remainTimeToLive(): Promise<number>;
}
