import type { Duration } from '../../common/duration.js';
import type { ReplicaOptions } from '../../options/acquire-options.js';

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
   * @throws LockStoreError when Redis fails, or when too few `replicas` have it: ask `getCount()`, it may have been set all
   * the same; LockConfigError
   */
  trySetCount(count: number, options?: LatchOptions): Promise<boolean>;
  /**
   * One part is done; answers how much is left. At 0 the latch opens for all who wait. Of an open latch nothing is left,
   * and nothing happens to it: so 0 does not say that the work is done if Redis may have lost the latch (`await` does). A
   * lost connection does not make it count twice.
   * @throws LockStoreError when Redis fails: whether it has counted is not known then; and when too few `replicas` have it:
   * the master has counted then; LockConfigError
   */
  countDown(options?: LatchCountOptions): Promise<number>;
  /**
   * How much is left; 0: it is open.
   * @throws LockStoreError when Redis fails
   */
  getCount(): Promise<number>;
  /**
   * Waits until the latch is open, for ever unless it is told how long: `await('10m')`, or with options. `false`: it was
   * still closed when that was over. Wakes at once, and however many wait in a process, they cost as much as one.
   * `true` to a call that has seen the latch closed means that it has come to 0. A call that finds no latch gets `true`, too:
   * one that has come to 0, one that is not set yet and one that was lost before are the same to it.
   * @throws LatchLostError when the call has seen the latch closed, and it is gone without having opened: it has expired, or
   * Redis has lost it; LockStoreError when Redis fails, or when the application shuts down; the reason of `options.signal`
   * when that aborts; LockConfigError
   */
  await(wait?: Duration | LatchWaitOptions): Promise<boolean>;
}

/** How a latch is counted down. */
export interface LatchCountOptions {
  /**
   * How many replicas must have the change before the call succeeds: {@link ReplicaOptions}. If too few have it in time, the
   * call fails with `LockStoreError`; the master keeps the change.
   * @defaultValue the module's `defaults`
   */
  replicas?: ReplicaOptions;
}

/** How a latch is set. */
export interface LatchOptions extends LatchCountOptions {
  /**
   * For how long the latch stays closed without a count-down, in milliseconds or `'2h'`; at least 50 ms. Each count-down
   * starts this time again. After it, waiters get a `LatchLostError` within 4 s, because the work is not done; later calls
   * find no latch.
   * @defaultValue 24 h
   */
  expire?: Duration;
}

/** How a latch is awaited. */
export interface LatchWaitOptions {
  /**
   * How long to wait, in milliseconds or `'5s'`. 0: only look. `Infinity`: until the latch opens.
   * @defaultValue Infinity
   */
  waitTimeout?: Duration;
  /** An `AbortSignal` that ends the wait: the call rejects with the signal's reason. */
  signal?: AbortSignal;
}
