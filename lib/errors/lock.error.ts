/** What went wrong, as a stable word: survives two copies of the package, serialisation and minifiers. */
export type LockErrorCode =
  'LOCK_TIMEOUT' | 'LOCK_LOST' | 'LOCK_NOT_HELD' | 'LOCK_LATCH_LOST' | 'LOCK_STORE' | 'LOCK_KEY' | 'LOCK_CONFIG';

/** What every lock error can be given beside its message. */
export interface LockErrorDetails {
  /** The key concerned, when there is one. */
  key?: string;
  /** The error underneath, such as the one that Redis answered. */
  cause?: unknown;
}

/**
 * What all errors of this library have in common. Tell them apart by `code` or with the guards
 * (`isLockTimeoutError` …) rather than by `instanceof`, which fails when two copies of the package are loaded.
 */
export abstract class LockError extends Error {
  abstract readonly code: LockErrorCode;
  readonly key: string | undefined;

  protected constructor(message: string, { key, cause }: LockErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.key = key;
  }
}
