import type { Duration } from '../../common/duration.js';
import type { ReplicaOptions } from '../../options/acquire-options.js';

/**
 * A latch that opens when all parts of a job are done, in any processes (Redisson's `RCountDownLatch`). A latch that
 * does not exist is open: a caller that awaits it before its count is set does not wait.
 *
 * ```ts
 * const parts = locks.getCountDownLatch(`import:${id}`);
 * await parts.trySetCount(files.length); // before the jobs are started
 *
 * await parts.countDown(); // each worker, at the end of its file
 *
 * await parts.await(); // the process that continues when all is done: waits until the latch opens, without a limit
 * await publish(id);
 * ```
 */
export interface CountDownLatch {
  readonly key: string;
  /**
   * Closes the latch until `count` count-downs, at least 1. Resolves to `false`, and changes nothing, if the latch is closed
   * already. After it has opened it can be set again.
   * @throws LockStoreError if Redis fails, or if too few `replicas` have it: the latch may still have been set, so
   *   check `getCount()`; LockConfigError
   */
  trySetCount(count: number, options?: LatchOptions): Promise<boolean>;
  /**
   * Counts down by one part; resolves to how many are left. At 0 the latch opens for all waiters. An open latch does not
   * change and gives 0, so 0 does not prove that the work is done if Redis may have lost the latch (`await` proves it). A lost
   * connection never makes a call count twice.
   * @throws LockStoreError if Redis fails, so it is unknown whether the call has counted, or if too few `replicas` have
   *   the change, although the master has counted; LockConfigError
   */
  countDown(options?: LatchCountOptions): Promise<number>;
  /**
   * Resolves to how many parts are left; 0: the latch is open.
   * @throws LockStoreError if Redis fails
   */
  getCount(): Promise<number>;
  /**
   * Deletes the latch without opening it: the job is cancelled. Its waiters get a `LatchLostError` within 4 s, and so do
   * later waits of a client that has seen it closed. Other calls find no latch, and it can be set again at once. Resolves
   * to `false` if there was no latch. If the network repeats or delays the command, it deletes no later latch.
   * @throws LockStoreError if Redis fails: the latch may still have been deleted
   */
  delete(): Promise<boolean>;
  /**
   * Waits until the latch is open: without a limit, or for a time, `await('10m')` or `await({ waitTimeout: '10m' })`.
   * The `defaults` of the module do not limit it. Resolves to `true` when the latch is open, and to `false` if it is
   * still closed after that time. A call without a time never gets `false`, and no call gets a `LockTimeoutError`. The
   * waiters of a process cost as much as one. If a wait of this client has seen the latch closed in the last nine
   * minutes, or a call of it has set the latch, `true` means that the latch has reached 0. Otherwise a call that finds
   * no latch gets `true` as well: it cannot distinguish a latch that has reached 0, a latch that is not set yet and a
   * latch that was lost before.
   * @throws LatchLostError if the client has seen the latch closed, and it ended without opening: it expired, was
   *   deleted, or Redis lost it; LockStoreError if Redis fails, or if the application shuts down; the reason of
   *   `options.signal` if that aborts; LockConfigError
   */
  await(wait?: Duration | LatchWaitOptions): Promise<boolean>;
}

/** Options of `countDown`. */
export interface LatchCountOptions {
  /**
   * How many replicas must have the change before the call succeeds: `{ min, timeout }`. If too few have it in time, the
   * call fails with `LockStoreError`; the master keeps the change.
   * @defaultValue the module's `defaults`
   */
  replicas?: ReplicaOptions | undefined;
}

/** Options of `trySetCount`. */
export interface LatchOptions extends LatchCountOptions {
  /**
   * For how long the latch stays closed without a count-down, in milliseconds or `'2h'`; at least 50 ms. Each count-down
   * restarts this time. When it ends, waiters get a `LatchLostError` within 4 s.
   * @defaultValue 24 h
   */
  expire?: Duration | undefined;
}

/** Options of `await`. */
export interface LatchWaitOptions {
  /**
   * How long to wait, in milliseconds or `'5s'`. If the latch is still closed after that, the call resolves to `false`.
   * 0: only checks the latch. `Infinity`: waits until the latch opens.
   * @defaultValue Infinity
   */
  waitTimeout?: Duration | undefined;
  /** An `AbortSignal` that ends the wait: the call rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}
