import type { Duration } from '../../common/duration.js';
import type { AcquireOptions, RunOptions } from '../../options/acquire-options.js';
import type { OptionIn } from '../../options/option-table.js';
import type { LockHandle } from '../handles/lock-handle.js';

/** What a semaphore is made with. */
export interface SemaphoreOptions {
  /**
   * How many permits there are, at least 1; write the same number everywhere. A number that `setPermits` has set takes
   * precedence. A call that asks for more permits than there are fails with `LockConfigError`, also if their number is lowered
   * while it waits.
   */
  permits: number;
  /** What stands for the key in metrics, such as `'imports:*'`: the same text for all keys of one kind. */
  pattern?: string;
}

/** How permits are acquired. */
export type SemaphoreCallOptions = Pick<AcquireOptions, OptionIn<'semaphore'>>;

/**
 * At most so many at a time, on all machines. Permits are leases, renewed while they are held, so those of a dead process
 * come back. First come first served: a request for many is not passed by smaller ones.
 *
 * ```ts
 * const imports = locks.getSemaphore('imports', { permits: 3 });
 * await imports.run(async () => { … });
 * ```
 */
export interface Semaphore {
  readonly key: string;
  /**
   * Waits for permits and takes them; the handle gives them back.
   * @throws LockTimeoutError after `waitTimeout`; LockConfigError for more permits than there are, also when `setPermits`
   * lowers their number while the call waits
   */
  acquire(permits?: number, options?: SemaphoreCallOptions): Promise<LockHandle>;
  /** Takes permits if it can within `waitTime` (default 0: one try), else answers `null`. `leaseTime` 0: renewed. */
  tryAcquire(permits?: number, waitTime?: Duration, leaseTime?: Duration): Promise<LockHandle | null>;
  /** Runs `task` with one permit, or as many as `units` says. */
  run<T>(task: (handle: LockHandle) => T | Promise<T>, options?: SemaphoreRunOptions): Promise<T>;
  /**
   * Gives permits back by the handle that `acquire` gave, of this object or another one of the same key.
   * @throws LockNotHeldError when they are not held (any more), or are those of another semaphore
   */
  release(handle: LockHandle): Promise<void>;
  /** How many permits are free now. Those who wait may be about to take them. */
  availablePermits(): Promise<number>;
  /** How many permits there are: as `setPermits` said, or as this object was made with. */
  getPermits(): Promise<number>;
  /**
   * Changes the number of permits for all machines, at run time. Permits that are held stay held. The number counts more
   * than what the objects and decorators say, until nobody has had a permit in a week. Waiters that ask for more than the
   * new number get a `LockConfigError`. 0 pauses the semaphore: nobody gets a permit, and waiters go on waiting.
   * Of two calls that overlap one wins, and a call that is repeated by the network undoes no later one.
   * @throws LockStoreError when Redis fails: the number may have been set all the same; LockConfigError
   */
  setPermits(permits: number): Promise<void>;
}

/** How `Semaphore.run` acquires. */
export interface SemaphoreRunOptions extends Omit<SemaphoreCallOptions, 'onLost'>, Pick<RunOptions, 'onLost'> {
  /**
   * How many permits `run` takes. `acquire(permits, options)` takes the number first.
   * @defaultValue 1
   */
  units?: number;
}
