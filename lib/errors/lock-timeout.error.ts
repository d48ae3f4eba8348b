import { LockError, type LockErrorDetails } from './lock.error.js';

/** Another holder had the key for the whole of `waitTimeout`. Nothing is broken: retry later, or wait longer. */
export class LockTimeoutError extends LockError {
  readonly code = 'LOCK_TIMEOUT';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LockTimeoutError';
  }
}
