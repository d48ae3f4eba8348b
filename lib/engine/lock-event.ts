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
  /** The mode in which the key is held or requested: exclusive, together with other readers, or as permits of a semaphore. */
  readonly lockType: 'exclusive' | 'read' | 'permits';
  /** The key template, or the `pattern` of the call; `undefined`: the call named a plain key and no pattern. */
  readonly pattern: string | undefined;
}

/** A lock was acquired `waited` ms after the call. Re-entry emits no event. */
export interface LockAcquiredEvent extends EventOfKey {
  readonly type: 'acquired';
  readonly fencingToken: number;
  readonly waited: number;
  /** Whether the caller waited for another holder. Known only if the event `contended` was observed. */
  readonly contended: boolean;
}

/** Another holder has the key: the caller waits, or gives up if it may not wait. */
export interface LockContendedEvent extends EventOfKey {
  readonly type: 'contended';
}

/** A caller got a `LockTimeoutError` after `waited` ms, since other holders had the key all the time. */
export interface LockTimeoutEvent extends EventOfKey {
  readonly type: 'timeout';
  readonly waited: number;
}

/**
 * A caller went on without the lock after `waited` ms, since other holders had the key all the time: a method with
 * `onContended: 'skip'` or a function, `tryAcquire`, or `tryLock`. No error is thrown.
 */
export interface LockSkippedEvent extends EventOfKey {
  readonly type: 'skipped';
  readonly waited: number;
}

/** The lease was renewed; `renewals` counts the renewals of this hold. */
export interface LockRenewedEvent extends EventOfKey {
  readonly type: 'renewed';
  readonly fencingToken: number;
  readonly renewals: number;
}

/** A lock was released after `held` ms. */
export interface LockReleasedEvent extends EventOfKey {
  readonly type: 'released';
  readonly fencingToken: number;
  readonly held: number;
}

/** The holder has released the lock after `held` ms, but Redis did not confirm: the lock ends with its lease at the latest. */
export interface LockUnreleasedEvent extends EventOfKey {
  readonly type: 'unreleased';
  readonly fencingToken: number;
  readonly held: number;
  readonly reason: string;
}

/** A lock ended under its holder, after `held` ms. */
export interface LockLostEvent extends EventOfKey {
  readonly type: 'lost';
  readonly fencingToken: number;
  readonly held: number;
  readonly reason: string;
}
