/** The kind of an error, as a stable word that survives two copies of the package, serialisation and minifiers. */
export type LockErrorCode =
  'LOCK_TIMEOUT' | 'LOCK_LOST' | 'LOCK_NOT_HELD' | 'LOCK_LATCH_LOST' | 'LOCK_STORE' | 'LOCK_KEY' | 'LOCK_CONFIG';

/** The details of a lock error. */
export interface LockErrorDetails {
  /** The key, if the error concerns one. */
  key?: string;
  /** The decorated method whose call failed, such as `'Stock.reserve'`. */
  method?: string;
  /** The original error, such as the reply of Redis. */
  cause?: unknown;
}

/**
 * The base class of all errors of this library. Distinguish them by `code` or with the guards (`isLockTimeoutError` …), not
 * with `instanceof`, which fails if two copies of the package are loaded.
 */
export abstract class LockError extends Error {
  abstract readonly code: LockErrorCode;
  readonly key: string | undefined;
  /**
   * The decorated method whose lock timed out, failed, was lost or has no key, such as `'Stock.reserve'`; `undefined`: the call
   * was made in code, or it is another error.
   */
  readonly method: string | undefined;

  protected constructor(message: string, { key, method, cause }: LockErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.key = key;
    this.method = method;
  }
}
