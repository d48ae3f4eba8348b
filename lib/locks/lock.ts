import type { Duration } from '../common/duration.js';
import type { AcquireOptions } from './acquire-options.js';
import type { LockHandle } from './lock-handle.js';

/** Whose lock a `Lock` object is, and under what it is seen. */
export interface LockObjectOptions {
  /**
   * Re-enters as a thread of Redisson does: whoever names this owner, in any context and process, holds the key
   * together. Without it the hold taken through this object is meant.
   */
  owner?: string;
  /** What stands for the key in metrics, such as `'stock:*'`, the same text for all keys of one kind. Default: nothing. */
  pattern?: string;
}

/** How one call through a `Lock` object acquires; what the object itself says of it cannot be given anew. */
export type LockCallOptions = Omit<AcquireOptions, 'owner' | 'type' | 'fair' | 'permits' | 'pattern'>;

/** The two locks of one key: many may read at a time, or one may write. */
export interface ReadWriteLock {
  readLock(): Lock;
  writeLock(): Lock;
}

/** The shape of `java.util.concurrent.locks.Lock` and of Redisson's `RLock`, for those who come from there. */
export interface Lock {
  /** The key; of a lock over several keys the first one. */
  readonly key: string;
  /**
   * Waits for the lock and takes it.
   * @throws LockTimeoutError after `waitTimeout` (default of the module: 10 s), and all else that `LockService.acquire` does:
   * of several keys LockLostError, when one is lost while another is waited for
   */
  lock(options?: LockCallOptions): Promise<LockHandle>;
  /**
   * Takes the lock if it can within `waitTime` (default 0: one try), else answers `null`. `leaseTime` 0 or left out:
   * renewed for as long as it is held.
   */
  tryLock(waitTime?: Duration, leaseTime?: Duration): Promise<LockHandle | null>;
  /**
   * Gives back what was taken last by this scope or through this object.
   * @throws LockNotHeldError when that is nothing, or when calls through this object overlapped: release the handle then
   */
  unlock(): Promise<void>;
  /** Frees the key, whoever holds it, and tells the holder. `true`: it was held. */
  forceUnlock(): Promise<boolean>;
  /** Whether anybody holds the key (of several keys: each of them): reading, if this is a read lock, and else alone. */
  isLocked(): Promise<boolean>;
  /** Whether this scope, or this object, holds the key. No I/O. */
  isHeldByCurrentContext(): boolean;
  /** Whether that owner holds the key. */
  isHeldBy(owner: string): Promise<boolean>;
  /** How often this scope, or this object, holds the key. No I/O. */
  getHoldCount(): number;
  /** Milliseconds until Redis frees the key if nobody is heard of; -2 when it is not locked. */
  remainTimeToLive(): Promise<number>;
}
