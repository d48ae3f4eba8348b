import type { LossReason } from '../errors/index.js';

/** What happens to a lock, as `LockService.events` emits it. */
export type LockEvent =
  | LockAcquiredEvent
  | LockContendedEvent
  | LockTimeoutEvent
  | LockSkippedEvent
  | LockRenewedEvent
  | LockReleasedEvent
  | LockUnreleasedEvent
  | LockLostEvent;

interface EventOfKey {
  readonly key: string;
  /** The owner that holds the key; while a caller waits, the owner that the caller named, if any. */
  readonly owner: string | undefined;
  /** How the key is held or requested: exclusive, together with other readers, or as permits of a semaphore. */
  readonly kind: 'exclusive' | 'read' | 'permits';
  /** The key template, or the `pattern` of the call; `undefined`: the call named a plain key and no pattern. */
  readonly pattern: string | undefined;
  /** The decorated method, `Class.method`; `undefined`: the call was made in code. */
  readonly method: string | undefined;
  /** The `label` of this client: the process that the event is about. */
  readonly label: string;
}

/** A lock was acquired `waited` ms after the call. Re-entry emits no event. */
export interface LockAcquiredEvent extends EventOfKey {
  readonly type: 'acquired';
  readonly fencingToken: number;
  readonly waited: number;
  /** Whether the caller waited for another holder. Known only if the event `contended` was observed. */
  readonly contended: boolean;
  /**
   * After a wait, the holder that the caller waited for last: the label of its client, or the id of the client as long as the
   * label is not known. Known only if the event `contended` was observed.
   */
  readonly previousHolder: string | undefined;
}

/** Another caller holds the key: the caller waits, or gives up if it may not wait. */
export interface LockContendedEvent extends EventOfKey {
  readonly type: 'contended';
  /** A holder of the key: the label of its client, or the id of the client as long as the label is not known. */
  readonly holder: string | undefined;
  /** The id of its hold, as `inspect` returns it: the `owner` in the events of its process, unless it named an owner. */
  readonly holderId: string | undefined;
}

/** A caller got a `LockTimeoutError` after `waited` ms, because other holders held the key all the time. */
export interface LockTimeoutEvent extends EventOfKey {
  readonly type: 'timeout';
  /** As in `contended`: the holder that the caller waited for last. */
  readonly holder: string | undefined;
  readonly holderId: string | undefined;
  readonly waited: number;
}

/**
 * A caller continued without the lock after `waited` ms, because other holders held the key all the time: a method with
 * `onContended: 'skip'` or a function, `tryAcquire`, or `tryLock`. No error is thrown.
 */
export interface LockSkippedEvent extends EventOfKey {
  readonly type: 'skipped';
  /** As in `contended`. */
  readonly holder: string | undefined;
  readonly holderId: string | undefined;
  readonly waited: number;
}

/** The lease was renewed; `renewals` counts the renewals of this hold. */
export interface LockRenewedEvent extends EventOfKey {
  readonly type: 'renewed';
  readonly fencingToken: number;
  readonly renewals: number;
  /** How many ms after it was due the renewal was confirmed, if that is more than a tenth of the lease; otherwise 0. */
  readonly late: number;
}

/** A lock was released after `held` ms. */
export interface LockReleasedEvent extends EventOfKey {
  readonly type: 'released';
  readonly fencingToken: number;
  readonly held: number;
}

/**
 * The holder released the lock after `held` ms, but Redis did not confirm it. The client tries again until the lease ends.
 */
export interface LockUnreleasedEvent extends EventOfKey {
  readonly type: 'unreleased';
  readonly fencingToken: number;
  readonly held: number;
  readonly reason: string;
}

/** A lock was lost after `held` ms, while its holder still relied on it. */
export interface LockLostEvent extends EventOfKey {
  readonly type: 'lost';
  readonly fencingToken: number;
  readonly held: number;
  /** The message of the `LockLostError`. */
  readonly reason: string;
  /** Why it was lost, as a stable word. */
  readonly lossReason: LossReason;
  /** Who released it by force: the `by` of `forceRelease`. */
  readonly forcedBy: string | undefined;
  /**
   * Who got it by a release by force: the label of the client, or its id if the label is not known. `undefined`: no waiter got it
   * at once, or the store does not say (Redlock, Redisson).
   */
  readonly nextHolder: string | undefined;
}
