import { LockStoreError } from '../errors/index.js';
import type { HoldTerms } from './hold.js';

/** A caller that names no owner still holds all keys of a set under one owner: that of its first hold. */
export const ownedBy = (owner: string | undefined, terms: HoldTerms): HoldTerms => ({
  ...terms,
  owner: terms.owner ?? owner,
});

/** The keys of a set, for messages. */
export const named = (set: readonly HoldTerms[]): string => set.map(({ key }) => `'${key}'`).join(', ');

/** The store has not answered in time for a set. */
export const unanswered = (set: readonly HoldTerms[]): LockStoreError =>
  new LockStoreError(`Redis has not answered yet whether ${named(set)} are free`, { transient: true });

/** The store has answered for a set, but only after a lease. */
export const tooLate = (set: readonly HoldTerms[]): LockStoreError =>
  new LockStoreError(`Redis answered after the lease of ${named(set)} had ended`, { transient: true });
