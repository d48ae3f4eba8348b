import type { Duration } from '../common/duration.js';
import type { LockLostError, LockTimeoutError } from '../errors/index.js';
import type { LockHandle } from '../service/handles/lock-handle.js';

/**
 * Called the moment a lock is lost, while its holder may still be running. It may be asynchronous; its value is not used,
 * and what it throws is logged, no more.
 */
export type LockLostListener = (error: LockLostError, handle: LockHandle) => unknown;

/**
 * What happens when the lock is lost before the method ends. `'throw'` (default): once the method has ended well, the
 * caller gets the `LockLostError`, with the method's value as its `result`. `'ignore'`: the caller gets the value. A
 * function: called at once, and the caller gets the value.
 */
export type OnLost = 'throw' | 'ignore' | LockLostListener;

/**
 * What happens when others hold the lock for the whole wait. `'throw'` (default): `LockTimeoutError`. `'skip'`: the
 * method does not run and its caller gets `undefined` (an Observable completes empty). A function: its value is what
 * the caller gets. With `'skip'` and a function nothing waits unless `waitTimeout` is given right beside it.
 */
export type OnContended = 'throw' | 'skip' | ((error: LockTimeoutError, ...args: any[]) => unknown);

/** How one acquisition is made. What is not given comes from the module's `defaults`. */
export interface AcquireOptions {
  /**
   * The lease in milliseconds, or `'30s'`; at least 50 ms. 0 (default): a lease of `lockWatchdogTimeout`, renewed at
   * every third of it for as long as the lock is held. Above 0: a fixed lease that is not renewed.
   */
  expire?: Duration;
  /** With `expire: 0`: how often the lease is renewed at most. 0 (default): without limit. */
  maxRenewTimes?: number;
  /**
   * How long to wait for the lock, in milliseconds or `'5s'`; default 10 s. 0: one try. `Infinity`: for ever. Redis gets
   * at least 250 ms (or `commandTimeout`, if that is shorter) to answer the first question; if it has not answered by
   * then, the call rejects with a transient LockStoreError.
   */
  waitTimeout?: Duration;
  /** Ends the wait; the call rejects with the signal's own reason. Has no effect once the lock is held. */
  signal?: AbortSignal;
  /**
   * An identity of your own: whoever names the same owner holds the key together, in any process, like a thread of
   * Redisson. Default: re-entry by async context, inside `run` and decorated methods.
   */
  owner?: string;
  /** `false`: wait even for a lock that the surrounding scope holds. Default `true`. */
  reentrant?: boolean;
  /**
   * How long the key stays taken at least, counted from the acquisition, also when the holder is done sooner
   * (ShedLock's `lockAtLeastFor`): a job of 5 ms then runs once on replicas whose clocks differ. Default 0.
   */
  holdAtLeast?: Duration;
  /**
   * `'read'`: shared with other readers, while nobody writes. `'exclusive'` (default), or `'write'`, which is the same:
   * alone. A waiting writer stops the readers that come after it.
   */
  type?: LockType;
  /** At most so many hold the key at a time, each with one permit (a semaphore). Does not re-enter. */
  permits?: number;
  /**
   * `true`: strictly first come first served over all clients. Default `false`: the clients take turns in the order in
   * which they came, and each serves its own callers in their order.
   */
  fair?: boolean;
  /** Believe in the lock only once replicas have it. Default: the module's `defaults`, else not. */
  replicas?: ReplicaOptions;
  /** Called the moment the lock is lost. */
  onLost?: LockLostListener;
  /**
   * What stands for the key in metrics, such as `'stock:*'`, the same text for all keys of one kind. Default: the
   * template of the decorator; without one nothing.
   */
  pattern?: string;
}

/** In which way a key is held. */
export type LockType = 'exclusive' | 'read' | 'write';

/**
 * How many replicas must have a new lock before its holder gets it (Redis' `WAIT`). When they do not, the lock is given
 * back and the call fails with `LockStoreError`. A failover to one of them then knows the lock. `verify()` waits for them,
 * too. Set `min-replicas-to-write` beside it: a master that is cut off from its replicas renews what it has without them.
 */
export interface ReplicaOptions {
  /** At least 1. */
  min: number;
  /** How long to wait for them, in milliseconds or `'1s'`; default 1 s. It comes on top of `waitTimeout`, and lasts over a failover. */
  timeout?: Duration;
}

/** How `run` acquires, and what it does about a lock that is lost on the way. */
export interface RunOptions extends Omit<AcquireOptions, 'onLost'> {
  /** Default `'throw'`. */
  onLost?: OnLost;
}
