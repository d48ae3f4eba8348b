import type { OnContended, OnUnavailable, RunOptions } from '../options/acquire-options.js';
import type { MethodKey } from './method-key.js';

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
> extends Omit<RunOptions, 'signal' | 'owner' | 'reentrant'> {
  /**
   * The key to lock: a template over the arguments, several templates (all or none), or a function of the arguments. In
   * `@UseLock`: over the request, or of the request and the context. `methodKey('jobs')` builds it from class and method.
   */
  key: LockKey<Args>;
  /**
   * What happens if others hold the lock for the whole wait. `'throw'`: `LockTimeoutError`. `'skip'`: the call returns
   * `undefined`. A function of the error and the arguments: the call returns its value. Only `'throw'` waits by default.
   * @defaultValue 'throw'
   */
  onContended?: Contended | undefined;
  /**
   * What happens if Redis fails or does not answer, or the application shuts down. `'throw'`: `LockStoreError`. `'skip'`:
   * the call returns `undefined`. A function of the error and the arguments: the call returns its value. The method does not
   * run.
   * @defaultValue 'throw'
   */
  onUnavailable?: Unavailable | undefined;
  /**
   * A function of the arguments that decides whether to lock. If it returns `false`, the method runs without a lock. If
   * it throws, the call fails, so no method runs unlocked by accident.
   */
  condition?: ((...args: Args) => boolean) | undefined;
  /** The name of the `RedisLockModule` instance; without it, the instance that has no name. */
  instance?: string | undefined;
}

/** The options of `@DistributedLock`. */
export interface DistributedLockOptions<
  Args extends readonly any[] = any[],
  Contended extends OnContended = OnContended,
  Unavailable extends OnUnavailable = OnUnavailable,
> extends LockMethodOptions<Args, Contended, Unavailable> {
  /**
   * `'promise'` or `'observable'`: what the method returns. Needed only if neither `async` nor the declared return type
   * shows it. `@DistributedLock` only.
   */
  returns?: 'promise' | 'observable' | undefined;
}
