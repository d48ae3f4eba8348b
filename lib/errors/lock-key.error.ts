import { LockError, type LockErrorDetails } from './lock.error.js';

/** A key or a key template that cannot be used: wrong syntax, unknown parameter, or a value that is no key. */
export class LockKeyError extends LockError {
  readonly code = 'LOCK_KEY';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LockKeyError';
  }
}
