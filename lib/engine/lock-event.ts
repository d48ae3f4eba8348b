/** What can happen to a lock, as `LockService.events` tells it. */
export type LockEvent =
  | LockAcquiredEvent
  | LockContendedEvent
  | LockTimeoutEvent
  | LockRenewedEvent
  | LockReleasedEvent
  | LockUnreleasedEvent
  | LockLostEvent;

interface EventOfKey {
  readonly key: string;
  /** Who holds it; while it is waited for, only an owner that the caller named is known. */
  readonly owner: string | undefined;
  /** In which way it is held, or wanted: alone, together with other readers, or as permits of a semaphore. */
  readonly lockType: 'exclusive' | 'read' | 'permits';
  /** The key template as it was written, or the `pattern` of the call; `undefined`: a key that was made by hand. */
  readonly pattern: string | undefined;
}

/** A lock was acquired; `waited` milliseconds after it was asked for. Re-entry is not told. */
export interface LockAcquiredEvent extends EventOfKey {
  readonly type: 'acquired';
  readonly fencingToken: number;
  readonly waited: number;
  /** Whether it had to wait for others, so that the lock was handed to it (as far as anybody observed that). */
  readonly contended: boolean;
}

/** Others hold the key: the acquisition waits, or gives up when it may not wait. */
export interface LockContendedEvent extends EventOfKey {
  readonly type: 'contended';
}

/** An acquisition gave up after `waited` milliseconds, because others held the key all the time. */
export interface LockTimeoutEvent extends EventOfKey {
  readonly type: 'timeout';
  readonly waited: number;
}

/** The lease was renewed for the `renewals`-th time. */
export interface LockRenewedEvent extends EventOfKey {
  readonly type: 'renewed';
  readonly fencingToken: number;
  readonly renewals: number;
}

/** A lock was given back, after it had been held for `held` milliseconds. */
export interface LockReleasedEvent extends EventOfKey {
  readonly type: 'released';
  readonly fencingToken: number;
  readonly held: number;
}

/** The holder is done after `held` milliseconds, and Redis could not be told: the lock ends with its lease at the latest. */
export interface LockUnreleasedEvent extends EventOfKey {
  readonly type: 'unreleased';
  readonly fencingToken: number;
  readonly held: number;
  readonly reason: string;
}

/** A lock ended under its holder. */
export interface LockLostEvent extends EventOfKey {
  readonly type: 'lost';
  readonly fencingToken: number;
  readonly held: number;
  readonly reason: string;
}
