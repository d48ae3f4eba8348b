import type { Duration } from '../../common/duration.js';
import type { AcquireOptions } from '../../options/acquire-options.js';
import type { LockHandle } from '../handles/lock-handle.js';

/** The owner of a `LockObject`, and its name in metrics. */
export interface LockObjectOptions {
  /**
   * All callers with the same owner hold the key together, in any context and process, like a thread of Redisson. Without
   * it, `unlock()` releases only a lock that was acquired through this object in the same context.
   */
  owner?: string | undefined;
  /** The name of the key in metrics, such as `'stock:*'`: the same text for all keys of one kind. */
  pattern?: string | undefined;
}

/** Options of one call through a `LockObject`, except the options that the object itself sets. */
export type LockCallOptions = Pick<
  AcquireOptions,
  | 'expire'
  | 'renewedLease'
  | 'maxRenewTimes'
  | 'waitTimeout'
  | 'signal'
  | 'reentrant'
  | 'holdAtLeast'
  | 'replicas'
  | 'onLost'
>;

/** The two locks of one key: many callers may read at a time, or one may write. */
export interface ReadWriteLock {
  readLock(): LockObject;
  writeLock(): LockObject;
}

/**
 * The shape of `java.util.concurrent.locks.Lock` and of Redisson's `RLock`, for code from Java.
 *
 * The context takes the place of the thread: the innermost locked method, `run`, request or message around the call. A method
 * of this object releases and counts only what was acquired through this object in the same context (or by the same `owner`).
 * So one object in a field of a provider serves overlapping requests. Outside any context (schedules, queue consumers) calls
 * through one object must not overlap: the second call is refused.
 *
 * A lock that is not unlocked when its request or scope ends is not renewed any more, with one warning. The same happens if
 * `unlock()` is refused because it may belong to another call, and to a lock that is acquired after its request has ended.
 * Use `LockService.acquire` for a lock that outlives its request. Unlock through the object that locked.
 *
 * One misuse cannot be detected: a call whose `tryLock()` returned `null` must not unlock later, and must not ask
 * `isHeldByCurrentContext()` whether it may. A call of the same context that began in between may hold the lock by
 * then.
 */
export interface LockObject {
  /** The key; for a lock over several keys, the first one. */
  readonly key: string;
  /**
   * Waits for the lock and acquires it. It re-enters what the scope around the call holds, not what this object holds.
   * @throws LockConfigError if another call through this object overlaps and neither has a context of its own;
   * LockTimeoutError after `waitTimeout` (default of the module: 10 s); otherwise as `LockService.acquire`
   */
  lock(options?: LockCallOptions): Promise<LockHandle>;
  /**
   * Acquires the lock within `waitTimeout` (default 0: one try), otherwise resolves to `null`. Without `expire`, or with 0,
   * the lock is renewed as long as it is held. Instead of the two times it takes the options of `lock`:
   * `tryLock({ waitTimeout: '3s', renewedLease: '5s' })`. It does not wait unless they contain a `waitTimeout`.
   * @throws LockConfigError as `lock` does, and if a call of the same context holds the lock through this object
   */
  tryLock(waitTimeout?: Duration | LockCallOptions, expire?: Duration): Promise<LockHandle | null>;
  /**
   * Releases what was acquired last through this object in this context. It never releases the lock of a scope, which ends
   * with the scope. With an `owner`, it releases what this owner acquired last in this process, by any means.
   * @throws LockNotHeldError if there is nothing to release, if the lock had been lost, or if it may belong to another call.
   * Then the lock is not renewed any more, and ends with its lease unless its handle is released
   */
  unlock(): Promise<void>;
  /** Releases the key for all its holders, and notifies them. Resolves to `true` if the key was held. */
  forceUnlock(): Promise<boolean>;
  /** Whether the key (or each of several keys) is held: by readers if this is a read lock, otherwise exclusively. */
  isLocked(): Promise<boolean>;
  /**
   * Whether this context holds the key: through this object, or as the lock of its scope. If that is unknown because an
   * overlapping call was refused, the answer is `false`, and the lock is no longer renewed: the caller may be the
   * holder, and will not unlock it. No I/O.
   */
  isHeldByCurrentContext(): boolean;
  /** Whether this owner holds the key. */
  isHeldBy(owner: string): Promise<boolean>;
  /** How often this context holds the key. No I/O. */
  getHoldCount(): number;
  /** ms until Redis frees the key if no lease is renewed; -2 if it is not locked. */
  remainTimeToLive(): Promise<number>;
}
