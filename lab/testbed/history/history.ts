import { checkHolds } from '../../checker/check.mjs';

export { now } from './clock.mjs';

/** A period in which a hold of a key was valid for its caller; times by `now()`. */
export interface ValidHold {
  readonly key: string;
  /** The caller, for the report. */
  readonly who: string;
  /** When the caller had received the lock. */
  readonly from: number;
  /** When the caller learned of the loss or began to release the lock. */
  readonly to: number;
  readonly token?: number;
}

/**
 * Fails if exclusive holds, or holds of one of `permits` each, break a rule of the checker: two callers held a key at the same
 * time, or more than `permits`; or the tokens of exclusive holders do not follow the order of their holds.
 */
export function assertNoViolation(holds: readonly ValidHold[], run: { readonly permits?: number } = {}): void {
  const mode = run.permits === undefined ? 'exclusive' : 'permits';
  const violations = checkHolds(
    holds.map((hold, i) => ({ ...hold, op: `${hold.who} (${i + 1})`, mode })),
    run,
  );
  if (violations.length > 0) throw new Error(violations.map(({ rule, message }) => `${rule}: ${message}`).join('\n'));
}
