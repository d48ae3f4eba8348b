import type { AcquireOptions, OnContended, OnLost } from '../options/acquire-options.js';

/**
 * A key template (`'stock:#{#order.sku}'`), several of them (all are locked, or none), or a function of the method's
 * arguments that returns the final key or keys.
 */
export type LockKey<Args extends readonly any[] = any[]> =
  string | readonly string[] | ((...args: Args) => string | readonly string[]);

/** What `@DistributedLock` and `@UseLock` have in common. */
export interface LockMethodOptions<Args extends readonly any[] = any[]> extends Pick<
  AcquireOptions,
  'expire' | 'maxRenewTimes' | 'waitTimeout' | 'holdAtLeast' | 'type' | 'permits' | 'fair' | 'replicas' | 'pattern'
> {
  /** What to lock: a template over the arguments, or a function of them. */
  key: LockKey<Args>;
  /** What happens when others hold the lock. Default `'throw'`. */
  onContended?: OnContended;
  /** What happens when the lock is lost while the method runs. Default `'throw'`. */
  onLost?: OnLost;
  /** Whether to lock at all, by the arguments. One that throws makes the call fail: nothing runs unlocked by accident. */
  condition?: (...args: Args) => boolean;
  /** The name of the `RedisLockModule` instance. */
  connection?: string;
}

/** The options of `@DistributedLock`. */
export interface DistributedLockOptions<Args extends readonly any[] = any[]> extends LockMethodOptions<Args> {
  /** What the method returns, where neither `async` nor the declared return type says it. */
  returns?: 'promise' | 'observable';
}
