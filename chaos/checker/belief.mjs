/** The part of a lease that a client relies on: it takes off 1 % for clocks, and 2 ms. */
const validPart = (lease) => lease * 0.99 - 2;

/**
 * From when to when a holder believed, for certain: `marks` are its looks and its actions, in the order of time.
 *
 * Between two looks that said yes it was yes all the time. After the last one:
 * - its next note came before its belief would have ended by its clock: then somewhere in between it learned of the
 *   loss, or released the lock, and only the last look is certain;
 * - no note followed, or only a later one: then it did not run (it was stopped, or killed), and `isHeld` would have
 *   been true for any reader, up to the end by its clock. Others may count on the lease no sooner either.
 */
export function beliefOf(marks) {
  let from;
  let sure;
  let until;
  for (const mark of marks) {
    if (mark.type === 'look' && mark.held) {
      from ??= mark.at;
      sure = mark.at;
      until = mark.until;
    } else if (mark.type === 'extend') {
      // Belief shrinks when a shorter lease is asked for, and grows only when that is confirmed: by the next look.
      if (until !== undefined) until = Math.min(until, Math.max(mark.at, mark.at + validPart(mark.lease)));
    } else {
      const isOver = until !== undefined && mark.at >= until;
      // It learned of a loss while it still had time by its clock: the lock must have been taken away.
      return { from, to: isOver ? until : sure, takenAt: mark.type === 'lost' && !isOver ? mark.at : undefined };
    }
  }
  return { from, to: until };
}
