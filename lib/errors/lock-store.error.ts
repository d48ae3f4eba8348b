import { LockError, type LockErrorDetails } from './lock.error.js';

/**
 * Redis did not answer, or refused the command. `cause` is the original error. It does not tell whether the key is
 * held. In decorated methods and handlers, `onUnavailable` decides whether the caller gets this error.
 */
export class LockStoreError extends LockError {
  readonly code = 'LOCK_STORE';
  /** Whether the failure is temporary: a lost connection, a server that loads its data or fails over. */
  readonly transient: boolean;

  constructor(message: string, { transient = false, ...details }: LockErrorDetails & { transient?: boolean } = {}) {
    super(message, details);
    this.name = 'LockStoreError';
    this.transient = transient;
  }
}
