import { LockError, type LockErrorDetails } from './lock.error.js';
import type { LockHolder } from './lock-holder.js';

/**
 * Another caller held the key for the whole of `waitTimeout`. Nothing is broken: retry later, or wait longer.
 * In decorated methods and handlers, `onContended` decides whether the caller gets this error.
 */
export class LockTimeoutError extends LockError {
  readonly code = 'LOCK_TIMEOUT';
  /**
   * A holder of the key after the wait, as `inspect` returns it. `undefined` if no holder is left, if the store does
   * not answer in time, and in the error that an `onContended` function gets, because the store is not asked then.
   */
  readonly holder: LockHolder | undefined;

  constructor(message: string, { holder, ...details }: LockErrorDetails & { holder?: LockHolder | undefined } = {}) {
    super(message, details);
    this.name = 'LockTimeoutError';
    this.holder = holder;
  }
}
