import type { ReleaseReply, RenewReply } from '../lock-store.js';
import { errorsOf, minorityError, refuseMinority, valuesOf, type Answers } from './gather.js';

/**
 * Whether a lock was released. It counts as released unless it is certain that a majority did not have it any more.
 * @throws LockStoreError if so many masters fail that the rest is no majority
 */
export function tallyRelease(
  answers: Answers<ReleaseReply>,
  quorum: number,
  last: boolean,
): 'released' | 'was not held' | undefined {
  refuseMinority(answers, quorum);
  const values = valuesOf(answers);
  const notHeld = values.filter(({ released }) => !released).length;
  if (notHeld >= quorum) return 'was not held';
  if (last) return 'released';
  const open = answers.length - values.length - errorsOf(answers).length;
  return values.length >= quorum && notHeld + open < quorum ? 'released' : undefined;
}

/** How long the lease at `place` in a batch of renewals lasts on a majority, at least. */
export function tallyRenewal(
  answers: Answers<readonly RenewReply[]>,
  place: number,
  quorum: number,
  last: boolean,
): RenewReply | undefined {
  const most = answers.length - quorum;
  const left: number[] = [];
  const errors: Error[] = [...errorsOf(answers)];
  let notHeld = 0;
  for (const replies of valuesOf(answers)) {
    const reply = replies[place]!;
    if (reply === 'not-held') notHeld += 1;
    else if (typeof reply === 'number') left.push(reply);
    else errors.push(reply);
  }
  // More replies can only raise this.
  if (left.length >= quorum) return [...left].sort((a, b) => b - a)[quorum - 1];
  if (notHeld > most) return 'not-held';
  const open = answers.length - left.length - notHeld - errors.length;
  if (!last && (left.length + open >= quorum || notHeld + open > most)) return undefined;
  return minorityError(answers.length, left.length + notHeld, errors, quorum);
}
