import { LockError, type LockErrorDetails } from './lock.error.js';

/**
 * A count-down latch ended before it reached 0, so it is unknown whether the work is done. Either no call counted it
 * down within its `expire`, a call deleted it, or Redis lost it (a restart without data, a failover).
 */
export class LatchLostError extends LockError {
  readonly code = 'LOCK_LATCH_LOST';

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LatchLostError';
  }
}
