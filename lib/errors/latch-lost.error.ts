import { LockError, type LockErrorDetails } from './lock.error.js';

/**
 * A count-down latch is gone that has not come to 0, so nobody knows whether the work behind it is done: nobody counted it
 * down within its `expire`, or Redis has lost it (a restart without data, a failover, deleted data).
 */
export class LatchLostError extends LockError {
  readonly code = 'LOCK_LATCH_LOST';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LatchLostError';
  }
}
