import type { Duration } from '../../common/duration.js';
import type { RunOptions } from '../../options/acquire-options.js';
import type { LockHandle } from '../handles/lock-handle.js';
import type { LockCallOptions } from './lock.js';

/** Options of a semaphore. */
export interface SemaphoreOptions {
  /**
   * The total number of permits, at least 1. Write the same number everywhere. A number from `setPermits` takes precedence.
   * A call that requests more permits than exist fails with `LockConfigError`, even if their number was lowered meanwhile.
   */
  permits: number;
  /** The name of the key in metrics, such as `'imports:*'`: the same text for all keys of one kind. */
  pattern?: string | undefined;
}

/** Options of a call that acquires permits. */
export type SemaphoreCallOptions = Omit<LockCallOptions, 'reentrant'>;

/** Options of `drainPermits`, which does not wait. */
export type SemaphoreDrainOptions = Omit<SemaphoreCallOptions, 'waitTimeout' | 'signal'>;

/**
 * A limit on concurrent holders, on all machines. Permits are leases that are renewed while they are held, so the
 * permits of a crashed process become free again. First come, first served: smaller requests do not overtake a larger
 * one.
 *
 * ```ts
 * const imports = locks.getSemaphore('imports', { permits: 3 });
 * await imports.run(async () => { … });
 * ```
 */
export interface Semaphore {
  readonly key: string;
  /**
   * Waits for `units` permits (default 1) and acquires them; the handle releases them.
   * @throws LockTimeoutError after `waitTimeout`; LockConfigError for more permits than exist, even if `setPermits`
   *   lowered their number while the call waited
   */
  acquire(units?: number, options?: SemaphoreCallOptions): Promise<LockHandle>;
  /**
   * Acquires `units` permits (default 1) within `waitTimeout` (default 0: one try), otherwise resolves to `null`. With `expire`
   * 0 they are renewed as long as they are held. Instead of the two times it takes the options of `acquire`:
   * `tryAcquire(2, { waitTimeout: '3s', renewedLease: '5s' })`. It does not wait unless they contain a `waitTimeout`.
   * @throws LockConfigError as `acquire` does; LockStoreError if Redis fails
   */
  tryAcquire(
    units?: number,
    waitTimeout?: Duration | SemaphoreCallOptions,
    expire?: Duration,
  ): Promise<LockHandle | null>;
  /**
   * Acquires all free permits in one step. The handle has their number (`units`) and releases them. Resolves to `null`
   * if no permit is free, or if callers already wait for them. It does not wait. The permits are renewed while the
   * handle holds them, so they become free again if the process crashes. To keep all callers out for longer use
   * `setPermits(0)`.
   * @throws LockStoreError if Redis fails; LockConfigError for an option that cannot be used
   */
  drainPermits(options?: SemaphoreDrainOptions): Promise<LockHandle | null>;
  /** Runs `task` with one permit, or with `units` permits. */
  run<T>(task: (handle: LockHandle) => T | Promise<T>, options?: SemaphoreRunOptions): Promise<T>;
  /**
   * Releases the permits of a handle that `acquire` returned, of this object or another one of the same key: all of them, or
   * `units` of them, as `handle.releaseUnits(units)` does.
   * @throws LockNotHeldError if the permits are not held any more, or belong to another semaphore; otherwise as
   * `handle.releaseUnits`
   */
  release(handle: LockHandle, units?: number): Promise<void>;
  /** How many permits are free now. Waiters may be about to get them. */
  availablePermits(): Promise<number>;
  /** How many permits there are: the number that `setPermits` has set, or the number of this object. */
  getPermits(): Promise<number>;
  /**
   * Changes the number of permits on all machines at run time. Permits that are held stay held. The number takes
   * precedence over the number in objects and decorators, until a week has passed without a grant. Waiters that request
   * more get a `LockConfigError`. 0 pauses the semaphore: no permit is granted, and waiters continue to wait. If two
   * calls overlap, one of them wins. A call that the network repeats does not undo a later one.
   * @throws LockStoreError if Redis fails: the number may still have been set; LockConfigError
   */
  setPermits(permits: number): Promise<void>;
  /**
   * Adds `permits` to the number of permits on all machines, or removes some if `permits` is negative. Resolves to the
   * new number, which is never below 0. Overlapping calls each count once. The old number is that of the latest
   * `setPermits`, or else that of this object. Otherwise like `setPermits`.
   * @throws LockStoreError if Redis fails: the permits may still have been added; LockConfigError
   */
  addPermits(permits: number): Promise<number>;
}

/** Options of `Semaphore.run`. */
export interface SemaphoreRunOptions extends Omit<SemaphoreCallOptions, 'onLost'>, Pick<RunOptions, 'onLost'> {
  /**
   * How many permits `run` takes. `acquire(permits, options)` takes the number first.
   * @defaultValue 1
   */
  units?: number | undefined;
}
