import type { OnContended, OnUnavailable, RunOptions } from '../options/acquire-options.js';
import type { MethodKey } from './method-key.js';
import type { OptionIn } from '../options/option-table.js';

/**
 * A key template (`'stock:#{#order.sku}'`), several of them (all are locked, or none), a function of the method's arguments
 * that returns the key or keys, or `methodKey('prefix')`.
 */
export type LockKey<Args extends readonly any[] = any[]> =
  string | readonly string[] | MethodKey | ((...args: Args) => string | readonly string[]);

/** The options that `@DistributedLock` and `@UseLock` have in common. */
export interface LockMethodOptions<
  Args extends readonly any[] = any[],
  Contended extends OnContended = OnContended,
  Unavailable extends OnUnavailable = OnUnavailable,
> extends Pick<RunOptions, OptionIn<'decorator'> & keyof RunOptions> {
  /**
   * What to lock. A template over the arguments (in `@UseLock`: `#params`, `#query`, `#body`, `#headers`, `#user`, `#data`),
   * several templates (all are locked, or none), or a function that returns the key or keys. The function takes the
   * arguments; in `@UseLock` it takes the request and the context. `methodKey('jobs')`: the prefix, the class and the method.
   */
  key: LockKey<Args>;
  /**
   * What happens if others hold the lock for the whole wait. `'throw'`: `LockTimeoutError`. `'skip'`: the call returns
   * `undefined`. A function of the error and the arguments: the call returns its value. With `'skip'` and a function the call
   * does not wait, unless `waitTimeout` is written beside it.
   * @defaultValue 'throw'
   */
  onContended?: Contended;
  /**
   * What happens if Redis cannot grant the lock: it fails, does not answer, or the application shuts down. `'throw'`:
   * `LockStoreError`. `'skip'`: the call returns `undefined`. A function of the error and the arguments: the call returns its
   * value. The method never runs without its lock, unless your function does that work itself: then two callers can do it at
   * the same time.
   * @defaultValue 'throw'
   */
  onUnavailable?: Unavailable;
  /**
   * Whether to lock at all: a function of the arguments. `false` runs the method without a lock. If it throws, the call fails,
   * so that nothing runs unlocked by accident.
   */
  condition?: (...args: Args) => boolean;
  /** The name of the `RedisLockModule` instance; without it, the instance that has no name. */
  instance?: string;
}

/** The options of `@DistributedLock`. */
export interface DistributedLockOptions<
  Args extends readonly any[] = any[],
  Contended extends OnContended = OnContended,
  Unavailable extends OnUnavailable = OnUnavailable,
> extends LockMethodOptions<Args, Contended, Unavailable> {
  /**
   * `'promise'` or `'observable'`: what the method returns, if neither `async` nor the declared return type says it.
   * `@DistributedLock` only.
   */
  returns?: 'promise' | 'observable';
}
