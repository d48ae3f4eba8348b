import { LockError, type LockErrorDetails } from './lock.error.js';

/** `unlock()` was called where nothing is held: by this scope, owner or `Lock` object. */
export class LockNotHeldError extends LockError {
  readonly code = 'LOCK_NOT_HELD';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LockNotHeldError';
  }
}
