import { LockError, type LockErrorDetails } from './lock.error.js';
import type { LockHolder } from './lock-holder.js';

/** The details of a timeout. */
export interface LockTimeoutErrorDetails extends LockErrorDetails {
  holder?: LockHolder | undefined;
}

/** Another caller held the key for the whole of `waitTimeout`. Nothing is broken: retry later, or wait longer. */
export class LockTimeoutError extends LockError {
  readonly code = 'LOCK_TIMEOUT';
  /**
   * A holder of the key after the wait, as `inspect` returns it. `undefined` if no holder is left, if the store does
   * not answer in time, and in the error that an `onContended` function gets, because the store is not asked then.
   */
  readonly holder: LockHolder | undefined;

  constructor(message: string, { holder, ...details }: LockTimeoutErrorDetails = {}) {
    super(message, details);
    this.name = 'LockTimeoutError';
    this.holder = holder;
  }
}
