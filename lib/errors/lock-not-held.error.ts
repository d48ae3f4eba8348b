import { LockError, type LockErrorDetails } from './lock.error.js';

/** A call found no lock of its context (`unlock()`, `Semaphore.release()`, `currentLock()`), or no lock to adopt. */
export class LockNotHeldError extends LockError {
  readonly code = 'LOCK_NOT_HELD';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LockNotHeldError';
  }
}
