import { LockError, type LockErrorDetails } from './lock.error.js';

/**
 * A count-down latch is gone and has not come to 0, so it is not known whether the work is done. Either no call counted it
 * down within its `expire`, or Redis has lost it (a restart without data, a failover, deleted data).
 */
export class LatchLostError extends LockError {
  readonly code = 'LOCK_LATCH_LOST';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LatchLostError';
  }
}
