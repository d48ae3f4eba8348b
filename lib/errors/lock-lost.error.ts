import { LockError, type LockErrorDetails } from './lock.error.js';

/**
 * The lock ended while its holder still relied on it: the lease ran out (a stalled process, an unreachable Redis), it
 * was released by force, or the key is gone. Others may hold the key by now.
 */
export class LockLostError extends LockError {
  readonly code = 'LOCK_LOST';
  /** What the method had returned, when it ended well although its lock was lost on the way. */
  result?: unknown;

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LockLostError';
  }
}
