import { LockError, type LockErrorDetails } from './lock.error.js';

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

/** Why a lock was lost: each code, and what the messages say. */
export const LOSS_REASONS = Object.freeze({
  'lease-ended': 'its lease ended before it was renewed or released',
  unknown: 'Redis does not know it any more (its key was deleted, or its lease ended)',
  'unknown-at-release': 'Redis did not know it any more when it was released',
  'unknown-at-unit-release': 'Redis did not know it any more when permits were released',
  'unknown-at-handover': 'Redis did not know it any more when it was handed over',
  'shared-at-handover': 'another process held it under the same owner when it was handed over, so it was released',
  forced: 'it was released by force',
  shutdown: 'the application has shut down, and its holder had not released it by then',
});

/** The code of a reason for which a lock is lost. */
export type LossReason = keyof typeof LOSS_REASONS;
