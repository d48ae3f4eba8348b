import { LockError, type LockErrorDetails } from './lock.error.js';

/** An option cannot be used. The message says what to write instead. */
export class LockConfigError extends LockError {
  readonly code = 'LOCK_CONFIG';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LockConfigError';
  }
}
