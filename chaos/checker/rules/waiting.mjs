import { commandTimeoutOf, laneOf } from '../model.mjs';

/** ms beyond the wait: a lock that is released again, a busy machine, and commands that are not answered. */
const SLACK = 2_600;
const UNANSWERED = 2;

/**
 * Every waiter gets the lock or an answer in time. A process is not blamed for the time in which it did not run, and a
 * killed process owes nothing any more. After the last fault every key must be acquirable.
 */
export function waiting({ run, operations, stall: stalls }) {
  const slack = SLACK + UNANSWERED * commandTimeoutOf(run);
  const found = [];
  for (const operation of operations) {
    const { op, keys, invokedAt, outcome, wait, abortAfter = Infinity, final } = operation;
    const about = { key: keys[0], operations: [op] };
    if (outcome === undefined) {
      found.push({
        rule: 'waiting',
        at: invokedAt,
        ...about,
        message: `${op} was never told how its wait for '${keys}' ended`,
      });
      continue;
    }
    if (outcome.type === 'info') continue;
    const allowed = Math.min(wait, abortAfter) + slack;
    const took = outcome.at - invokedAt;
    // Summed up only where it matters: there are many operations, and many stalls.
    if (took > allowed && took - stalledFor(operation, stalls) > allowed) {
      const message = `${op} was told after ${Math.round(took)} ms how its wait for '${keys}' ended; ${Math.round(allowed)} were enough`;
      found.push({ rule: 'waiting', at: outcome.at, ...about, message });
    }
    if (final && outcome.type === 'fail') {
      const message = `after all faults ${op} could not have '${keys}' (${outcome.code})`;
      found.push({ rule: 'service', at: outcome.at, ...about, message });
    }
  }
  return found;
}

function stalledFor({ lane, invokedAt, outcome }, stalls) {
  return stalls
    .filter((stall) => laneOf(stall) === lane)
    .reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, outcome.at) - Math.max(from, invokedAt)), 0);
}
