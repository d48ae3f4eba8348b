/** The part of a lease that a client relies on: it takes off 1 % for clocks, and 2 ms. */
const validPart = (lease) => lease * 0.99 - 2;

/**
 * From when to when a hold was certainly valid for its holder. `marks` are the looks of the holder at `isHeld` and its
 * actions, in the order of time.
 *
 * Between two looks that returned `true` the hold was valid all the time. After the last one:
 * - The next note came before the hold would have ended by the holder's clock: the holder learned of the loss, or
 *   released the lock, somewhere in between. Only the last look is certain.
 * - No note followed, or only a later one: the holder did not run (it was stopped or killed). `isHeld` would have been
 *   `true` for any reader, up to the end by its clock. Other callers may not acquire the lock earlier either.
 */
export function validityOf(marks) {
  let from;
  let sure;
  let until;
  for (const mark of marks) {
    if (mark.type === 'look' && mark.held) {
      from ??= mark.at;
      sure = mark.at;
      until = mark.until;
    } else if (mark.type === 'extend') {
      // The validity shrinks when a shorter lease is requested, and grows only when that is confirmed: by the next look.
      if (until !== undefined) until = Math.min(until, Math.max(mark.at, mark.at + validPart(mark.lease)));
    } else {
      const isOver = until !== undefined && mark.at >= until;
      // It learned of a loss while it still had time by its clock: the lock must have been taken away.
      return { from, to: isOver ? until : sure, until, takenAt: mark.type === 'lost' && !isOver ? mark.at : undefined };
    }
  }
  return { from, to: until };
}
