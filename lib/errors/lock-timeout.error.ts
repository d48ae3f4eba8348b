import { LockError, type LockErrorDetails } from './lock.error.js';
import type { LockHolderInfo } from './lock-holder-info.js';

/** The details of a timeout. */
export interface LockTimeoutErrorDetails extends LockErrorDetails {
  holder?: LockHolderInfo | undefined;
}

/** Another holder had the key for the whole of `waitTimeout`. Nothing is broken: retry later, or wait longer. */
export class LockTimeoutError extends LockError {
  readonly code = 'LOCK_TIMEOUT';
  /**
   * A holder of the key after the wait, as `inspect` returns it. `undefined` if there is none, if the store did not say so in
   * time, and in the error that a function as `onContended` gets, for which the store is not asked.
   */
  readonly holder: LockHolderInfo | undefined;

  constructor(message: string, { holder, ...details }: LockTimeoutErrorDetails = {}) {
    super(message, details);
    this.name = 'LockTimeoutError';
    this.holder = holder;
  }
}
