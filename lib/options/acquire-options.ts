import type { Duration } from '../common/duration.js';
import type { LockLostError, LockStoreError, LockTimeoutError } from '../errors/index.js';
import type { LockHandle } from '../service/handles/lock-handle.js';

/*
 * What each option of a call means, its unit and its default. docs/options.md is written from these comments
 * (`npm run generate:options`); where an option is allowed and how it is read stands in option-table.ts.
 */

/**
 * Called the moment a lock is lost, while its holder may still be running. It may be asynchronous. Its value is not used, and
 * an error that it throws is only logged.
 */
export type LockLostListener = (error: LockLostError, handle: LockHandle) => unknown;

/** The option `onLost` of `run` and decorators. */
export type OnLost = 'throw' | 'ignore' | LockLostListener;

/** The option `onContended` of decorators. With `'skip'`, an Observable completes without a value. */
export type OnContended = 'throw' | 'skip' | ((error: LockTimeoutError, ...args: any[]) => any);

/**
 * The option `onUnavailable` of decorators. With `'skip'`, an Observable completes without a value. If a function does the work
 * without the lock, two callers can work at the same time.
 */
export type OnUnavailable = 'throw' | 'skip' | ((error: LockStoreError, ...args: any[]) => any);

/** The option `release` of `run` and decorators. */
export type ReleaseMode = 'awaited' | 'background';

/** How one acquisition is made. An option that is left out comes from the module's `defaults`. */
export interface AcquireOptions {
  /**
   * The lease in milliseconds, or `'30s'`. 0: `renewedLease`, renewed for as long as the lock is held. Above 0: a
   * fixed lease of at least 50 ms. When it ends, the lock is lost while the work continues.
   * @defaultValue 0
   */
  expire?: Duration | undefined;
  /**
   * The renewed lease of this call, at least 50 ms. A shorter one frees the lock of a crashed process sooner. A longer one
   * tolerates longer pauses. Cannot be combined with `expire` above 0.
   * @defaultValue the module's
   */
  renewedLease?: Duration | undefined;
  /**
   * With `expire: 0`: the largest number of renewals. 0: without limit.
   * @defaultValue 0
   */
  maxRenewTimes?: number | undefined;
  /**
   * How long to wait for the lock, in milliseconds or `'5s'`. 0: one try. `Infinity`: without limit. Redis gets at least
   * 250 ms for its first answer. `tryAcquire` does not wait unless the call itself sets this option.
   * @defaultValue 10 s
   */
  waitTimeout?: Duration | undefined;
  /** An `AbortSignal` that ends the wait: the call rejects with the signal's reason. It has no effect once the lock is held. */
  signal?: AbortSignal | undefined;
  /**
   * All callers with the same owner hold the key together, in any process, like a thread of Redisson. A string of 1 to 128
   * characters without spaces. Without it, calls re-enter by async context, inside `run` and decorated methods.
   */
  owner?: string | undefined;
  /**
   * `false`: wait even for a lock that the surrounding scope holds.
   * @defaultValue true
   */
  reentrant?: boolean | undefined;
  /**
   * The minimum time for which the key stays locked, counted from the acquisition, even if the work ends sooner or fails.
   * Applied at the release, so not after a crash. Not longer than a fixed `expire`. Elections ignore it.
   * @defaultValue 0
   */
  holdAtLeast?: Duration | undefined;
  /**
   * `'read'`: shared with other readers, while there is no writer. `'exclusive'`, or `'write'`, which is the same: one
   * holder. Readers that arrive after a waiting writer queue behind it. Cannot be combined with `permits`.
   * @defaultValue 'exclusive'
   */
  kind?: LockKind | undefined;
  /**
   * Makes the lock a semaphore with this many permits in total. Each holder takes one permit, or the number in `units`.
   * Does not re-enter. Cannot be combined with `kind`.
   */
  permits?: number | undefined;
  /**
   * How many of the `permits` this call takes: at least 1, at most all of them.
   * @defaultValue 1
   */
  units?: number | undefined;
  /**
   * `true`: strictly in the order of arrival over all processes. `false`: the processes take turns in their order of arrival,
   * and each serves its own callers in their order.
   * @defaultValue false
   */
  fair?: boolean | undefined;
  /**
   * How many replicas must have the lock before the call returns it: `{ min, timeout }`. Not available on Redlock.
   */
  replicas?: ReplicaOptions | undefined;
  /**
   * A function of the error and the handle, called the moment the lock is lost. For `run` also `'throw'` (its default) and
   * `'ignore'`.
   */
  onLost?: LockLostListener | undefined;
  /**
   * The name of the key in metrics, such as `'stock:*'`: the same text for all keys of one kind. For decorated methods,
   * the default is the template of the key.
   */
  pattern?: string | undefined;
}

/** How a key is held. */
export type LockKind = 'exclusive' | 'read' | 'write';

/**
 * How many replicas must have a new lock before its holder gets it (Redis' `WAIT`). A replica that has the lock keeps it
 * in a failover.
 */
export interface ReplicaOptions {
  /**
   * How many replicas must have the lock, at least 1. If fewer have it in time, the lock is released, and the call
   * fails with `LockStoreError`. `verify()` requires the same number. With two replicas or more, also set
   * `min-replicas-to-write` in Redis: otherwise a master that is cut off from them continues to renew leases.
   */
  min: number;
  /**
   * How long to wait for the replicas, in milliseconds or `'1s'`, in addition to `waitTimeout`. If a failover interrupts
   * this wait, the client repeats it within this time.
   * @defaultValue 1 s
   */
  timeout?: Duration | undefined;
}

/** How a lock that another process has handed over is held. It keeps its kind. */
export interface AdoptOptions extends Pick<AcquireOptions, 'expire' | 'renewedLease' | 'maxRenewTimes' | 'pattern'> {
  /** A function of the error and the handle, called the moment the lock is lost. */
  onLost?: LockLostListener | undefined;
}

/** How `run` acquires, and what it does if the lock is lost before its task ends. */
export interface RunOptions extends Omit<AcquireOptions, 'onLost'> {
  /**
   * What happens if the lock is lost. `'throw'`: after the work, the call rejects with `LockLostError`, with the value as
   * `result`. A function of the error and the handle: called at once; the call still rejects. `'ignore'`: the call returns
   * the value.
   * @defaultValue 'throw'
   */
  onLost?: OnLost | undefined;
  /**
   * For `run` and decorators. `'awaited'`: the call returns once Redis has answered the release. `'background'`: it returns
   * as soon as the work has ended. Another client may find the key locked for a moment longer.
   * @defaultValue 'awaited'
   */
  release?: ReleaseMode | undefined;
}

/** The call for which a {@link KeyBuilder} makes a key. */
export interface LockedMethodCall {
  /** The class of the instance. */
  readonly className: string;
  readonly methodName: string;
  /** The arguments of the method; of `@UseLock`: the request and the context. */
  readonly args: readonly unknown[];
}

/** Makes the final key of a locked method out of the key that the decorator gives. */
export type KeyBuilder = (key: string, call: LockedMethodCall) => string;
