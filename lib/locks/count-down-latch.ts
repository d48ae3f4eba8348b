import type { Duration } from '../common/duration.js';

/**
 * A door that opens when as many parts of a work are done as were counted, in whatever processes (Redisson's
 * `RCountDownLatch`). One that does not exist is open: whoever awaits it before its count is set does not wait.
 *
 * ```ts
 * const parts = locks.getCountDownLatch(`import:${id}`);
 * await parts.trySetCount(files.length); // before the work is given out
 *
 * await parts.countDown(); // each worker, at the end of its file
 *
 * if (await parts.await('10m')) await publish(id); // whoever goes on when all is done
 * ```
 */
export interface CountDownLatch {
  readonly key: string;
  /**
   * Closes the latch, to be opened by `count` count-downs, at least 1. `false`: it is closed already, which changes
   * nothing; once it has opened it can be set again.
   * @throws LockStoreError when Redis fails: ask `getCount()`, it may have been set all the same; LockConfigError
   */
  trySetCount(count: number, options?: LatchOptions): Promise<boolean>;
  /**
   * One part is done; answers how much is left. At 0 the latch opens for all who wait. Of an open latch nothing is left,
   * and nothing happens to it. A lost connection does not make it count twice.
   * @throws LockStoreError when Redis fails: whether it has counted is not known then
   */
  countDown(): Promise<number>;
  /**
   * How much is left; 0: it is open.
   * @throws LockStoreError when Redis fails
   */
  getCount(): Promise<number>;
  /**
   * Waits until the latch is open, for ever unless it is told how long: `await('10m')`, or with options. `false`: it was
   * still closed when that was over. Wakes at once, and however many wait in a process, they cost as much as one.
   * @throws LockStoreError when Redis fails, or when the application shuts down; the reason of `options.signal` when
   * that aborts; LockConfigError
   */
  await(wait?: Duration | LatchWaitOptions): Promise<boolean>;
}

/** How a latch is set. */
export interface LatchOptions {
  /**
   * For how long it stays closed when nobody counts it down, in milliseconds or `'2h'`: what a worker that died costs
   * those who wait. Each count-down begins it anew. At least 50 ms; default 24 hours.
   */
  expire?: Duration;
}

/** How a latch is awaited. */
export interface LatchWaitOptions {
  /** How long to wait, in milliseconds or `'5s'`. 0: only look. Default `Infinity`: until it opens. */
  waitTimeout?: Duration;
  /** Ends the wait; the call rejects with the signal's own reason. */
  signal?: AbortSignal;
}
