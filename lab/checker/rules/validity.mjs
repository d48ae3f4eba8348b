import { takenBy } from '../assumptions.mjs';

/** ms by which the clock of a client is ahead after a suspension, at most: the boot time has steps. */
const AHEAD = 20;

/**
 * A handle that was lost once never counts as held again, and its signal reports the loss as well. No holder learns of
 * a loss before its lease has ended by its own clock, unless the lock was taken away on purpose.
 */
export function validity(model) {
  const found = [];
  for (const operation of model.operations) {
    const { op, keys, marks, validity: period } = operation;
    const say = (at, message) => found.push({ rule: 'validity', at, key: keys[0], message, operations: [op] });
    if (period?.takenAt !== undefined && !isSuspendedBefore(model, operation)) {
      const { why = 'it is not known why' } = marks.find(({ type }) => type === 'lost');
      say(period.takenAt, `${op} lost '${keys}' while its lease lasted: ${why}`);
      found.at(-1).explanation = takenBy(model, operation, period.takenAt);
    }
    let over = false;
    for (const mark of marks) {
      if (mark.type === 'look' && mark.held) {
        if (over) say(mark.at, `${op} had lost '${keys}', and then it was held again`);
      } else if (mark.type !== 'extend') {
        if (mark.type === 'look' && !mark.aborted)
          say(mark.at, `${op} does not hold '${keys}' any more, and its signal has not aborted`);
        over = true;
      }
    }
  }
  return found;
}

/** Whether the holder was suspended just before the end of its lease, which its clock has reached first. */
function isSuspendedBefore({ faults }, { lane, validity: { to, until, takenAt } }) {
  if (until - takenAt > AHEAD) return false;
  const meets = ({ begin, end = Infinity }) => begin < takenAt && end > to;
  return faults.some((fault) => fault.kind === 'client suspended' && fault.client === lane && meets(fault));
}
