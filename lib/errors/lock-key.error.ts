import { LockError, type LockErrorDetails } from './lock.error.js';

/** A key or a key template that cannot be used: wrong syntax, unknown parameter, or a value that is no key. */
export class LockKeyError extends LockError {
  readonly code = 'LOCK_KEY';
  /**
   * Whether the key of a request handler (`@UseLock`) was to be made of a request that has no value for it, or none that
   * can stand in a key: then it is the request that has to change.
   */
  fromRequest = false;

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LockKeyError';
  }
}
