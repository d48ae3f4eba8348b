import { LockStoreError } from '../errors/index.js';

/** The error of a call whose grant arrived when its lease may have been over. */
export const answeredTooLate = (key: string, lease: number, transient = false): LockStoreError =>
  new LockStoreError(`Redis answered after the lease of '${key}' (${lease} ms) had ended`, {
    key,
    transient,
  });
