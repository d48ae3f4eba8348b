import { LockError, type LockErrorDetails } from './lock.error.js';

/**
 * The lock ended while its holder still relied on it: its lease expired (a blocked process, an unreachable Redis), it
 * was released by force, or Redis lost it. Another caller may hold the key now.
 */
export class LockLostError extends LockError {
  readonly code = 'LOCK_LOST';
  /** What the method returned, if it succeeded although its lock was lost meanwhile. */
  result?: unknown;

  constructor(message: string, details?: LockErrorDetails) {
    super(message, details);
    this.name = 'LockLostError';
  }
}
