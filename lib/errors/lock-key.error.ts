import { LockError, type LockErrorDetails } from './lock.error.js';

/** A key or a key template cannot be used: wrong syntax, an unknown parameter, or a value that cannot stand in a key. */
export class LockKeyError extends LockError {
  readonly code = 'LOCK_KEY';
  /**
   * Whether the request has no usable value for the key of its handler (`@UseLock`). Then the client of the request has to
   * change it.
   */
  fromRequest = false;

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LockKeyError';
  }
}
