import { commandTimeoutOf, stalledFor } from '../terms.mjs';

/** ms beyond the wait: a lock that is released again, a busy machine, and commands that are not answered. */
const SLACK = 2_600;
const UNANSWERED = 2;

/**
 * Every waiter gets the lock or an error in time, with the `slack` of its own library if it has another one. Time in
 * which its process did not run does not count, and the waits of a killed process do not either. After the last fault
 * each client must be able to acquire each key: its last attempt counts, because it repeats an attempt to which Redis
 * gave no answer.
 */
export function waiting({ run, operations, stall: stalls }) {
  const slack = SLACK + UNANSWERED * commandTimeoutOf(run);
  const found = [];
  const lastAttempts = new Map(
    operations.filter(({ final }) => final).map((operation) => [attemptOf(operation), operation]),
  );
  for (const operation of operations) {
    const { op, keys, invokedAt, outcome, wait, abortAfter = Infinity } = operation;
    const about = { key: keys[0], operations: [op] };
    if (outcome === undefined) {
      const message = `the wait of ${op} for '${keys}' never ended`;
      found.push({ rule: 'waiting', at: invokedAt, ...about, message });
      continue;
    }
    if (outcome.type === 'info') continue;
    const allowed = Math.min(wait, abortAfter) + (operation.slack ?? slack);
    const took = outcome.at - invokedAt;
    // Summed up only where it matters: there are many operations, and many stalls.
    if (took > allowed && took - stalledFor(stalls, operation.lane, invokedAt, outcome.at) > allowed) {
      const message = `the wait of ${op} for '${keys}' ended after ${Math.round(took)} ms, at most ${Math.round(allowed)} are allowed`;
      found.push({ rule: 'waiting', at: outcome.at, ...about, message });
    }
    if (outcome.type === 'fail' && lastAttempts.get(attemptOf(operation)) === operation) {
      const message = `after all faults ${op} could not acquire '${keys}' (${outcome.code})`;
      found.push({ rule: 'service', at: outcome.at, ...about, message });
    }
  }
  return found;
}

const attemptOf = ({ client, keys }) => `${client} ${keys}`;
