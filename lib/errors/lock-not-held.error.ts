import { LockError, type LockErrorDetails } from './lock.error.js';

/** `unlock()` was called, but this scope, owner or lock object holds no lock. */
export class LockNotHeldError extends LockError {
  readonly code = 'LOCK_NOT_HELD';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LockNotHeldError';
  }
}
