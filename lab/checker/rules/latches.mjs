import { lossBetween } from '../assumptions.mjs';
import { commandTimeoutOf, laneOf, stalledFor } from '../terms.mjs';

/**
 * ms after which a waiter has seen the latch, or has learned that Redis does not answer: some commands that time out.
 * The waiter sees the latch no later than the note that a later command was answered.
 */
const SEES = 400;
const UNANSWERED = 3;
/**
 * So many `commandTimeout`s after its call, a command arrives at the latest: for so long Redis remembers a call that has
 * had its effect. It may wait for a master that is stopped, on a connection that has been replaced meanwhile.
 */
const DELIVERED = 5;

/** How a call may fail: Redis failed, it has lost the latch, the caller gave up. */
const EXPECTED = ['LOCK_STORE', 'LOCK_LATCH_LOST', 'ABORTED'];

/**
 * If a waiter learns that its latch is open, the latch was counted down as many times as it was set to. A waiter that
 * saw the latch closed learns of a loss by an error, and gets no such error without a loss.
 */
export function latches(model) {
  const found = [];
  const spent = new Map();
  for (const wait of model.latches) {
    const { what, id, begin, end, outcome } = wait;
    if (end === undefined) continue;
    const say = (message, explanation) =>
      found.push({ rule: 'latches', at: end, message: `${id} ${message}`, operations: [], explanation });
    if (typeof outcome === 'string' && !EXPECTED.includes(outcome)) say(`got the unexpected error ${outcome}`);
    if (what !== 'await') continue;
    const set = lastSetBefore(model.latches, begin);
    if (set === undefined) continue;
    if (outcome === true && !mayBeOpen(set, end, model, spent)) {
      const stalled = stalledFor(model.stall, laneOf(wait), begin, end);
      const latest = wait.seen ?? begin + SEES + UNANSWERED * commandTimeoutOf(model.run) + stalled;
      say(
        `learned that the latch is open, but ${set.id} had set it to ${set.count}`,
        lossBetween(model, set.begin, latest),
      );
    }
    if (outcome === 'LOCK_LATCH_LOST' && lossBetween(model, 0, end) === undefined) {
      say('learned that the latch was lost, but no data was lost');
    }
  }
  return found;
}

const lastSetBefore = (all, at) =>
  all.filter(({ what, outcome, end }) => what === 'set' && outcome === true && end <= at).at(-1);

/**
 * Whether as many calls as the latch was set to may have counted it down until a waiter learned that it is open. A call
 * without an answer counts at most one latch down: `spent` has the latch that each such call explains.
 */
function mayBeOpen(set, until, { latches: all, run }, spent) {
  const counts = all.filter(({ what, begin }) => what === 'count' && begin <= until);
  // A call that was not executed yet when the latch was set may have counted down the new one.
  const answered = counts.filter((each) => !isUnknown(each) && each.end > set.begin).length;
  const latest = set.begin - DELIVERED * commandTimeoutOf(run);
  const unknown = counts.filter((each) => isUnknown(each) && each.begin > latest && (spent.get(each) ?? set) === set);
  const needed = unknown.slice(0, Math.max(0, set.count - answered));
  for (const each of needed) spent.set(each, set);
  return answered + needed.length >= set.count;
}

const isUnknown = ({ end, outcome }) => end === undefined || outcome === 'LOCK_STORE';
