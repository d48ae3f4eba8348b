import type { OnContended, RunOptions } from '../options/acquire-options.js';
import type { OptionIn } from '../options/option-table.js';

/**
 * A key template (`'stock:#{#order.sku}'`), several of them (all are locked, or none), or a function of the method's
 * arguments that returns the final key or keys.
 */
export type LockKey<Args extends readonly any[] = any[]> =
  string | readonly string[] | ((...args: Args) => string | readonly string[]);

/** What `@DistributedLock` and `@UseLock` have in common. */
export interface LockMethodOptions<Args extends readonly any[] = any[]> extends Pick<
  RunOptions,
  OptionIn<'decorator'> & keyof RunOptions
> {
  /** What to lock: a template over the arguments, or a function of them. */
  key: LockKey<Args>;
  /** What happens when others hold the lock. Default `'throw'`. */
  onContended?: OnContended;
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
