import { LockError, type LockErrorDetails } from './lock.error.js';

/** What a store error can be given beside the details of every lock error. */
export interface LockStoreErrorDetails extends LockErrorDetails {
  transient?: boolean;
}

/** Redis did not answer, or refused; `cause` is its own error. Says nothing about who holds the key. */
export class LockStoreError extends LockError {
  readonly code = 'LOCK_STORE';
  /** Whether it is of a kind that passes by itself: a lost connection, a server that is loading or failing over. */
  readonly transient: boolean;

  constructor(message: string, { transient = false, ...details }: LockStoreErrorDetails = {}) {
    super(message, details);
    this.name = 'LockStoreError';
    this.transient = transient;
  }
}
