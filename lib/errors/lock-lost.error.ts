import { LockError, type LockErrorDetails } from './lock.error.js';
import type { LossReason } from './loss-reasons.js';

/**
 * The lock ended while its holder still relied on it: its lease expired (a blocked process, an unreachable Redis), it
 * was released by force, or Redis lost it. Another caller may hold the key now. `onLost` decides whether the caller gets
 * this error.
 */
export class LockLostError extends LockError {
  readonly code = 'LOCK_LOST';
  /** Why the lock was lost, as a stable word; `undefined`: its holder had released it. */
  readonly lossReason: LossReason | undefined;
  /** Who released the lock by force: the `by` of `forceRelease`. `undefined`: it is not known. */
  readonly forcedBy: string | undefined;
  /** What the method returned, if it succeeded although its lock was lost meanwhile. */
  result?: unknown;

  constructor(
    message: string,
    details: LockErrorDetails & Partial<Pick<LockLostError, 'lossReason' | 'forcedBy'>> = {},
  ) {
    super(message, details);
    this.name = 'LockLostError';
    this.lossReason = details.lossReason;
    this.forcedBy = details.forcedBy;
  }
}
