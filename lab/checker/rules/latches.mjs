import { lossBetween } from '../assumptions.mjs';
import { commandTimeoutOf, laneOf } from '../terms.mjs';

/**
 * ms after which a waiter has seen the latch, or has learned that Redis does not answer: some commands that time out.
 * The waiter sees the latch no later than the note that a later command was answered.
 */
const SEES = 400;
const UNANSWERED = 3;

/** How a call may fail: Redis failed, it has lost the latch, the caller gave up. */
const EXPECTED = ['LOCK_STORE', 'LOCK_LATCH_LOST', 'ABORTED'];

/**
 * If a waiter learns that its latch is open, the latch was counted down as many times as it was set to. A waiter that
 * saw the latch closed learns of a loss by an error, and gets no such error without a loss.
 */
export function latches(model) {
  const found = [];
  for (const wait of model.latches) {
    const { what, id, begin, end, outcome } = wait;
    if (end === undefined) continue;
    const say = (message, explanation) =>
      found.push({ rule: 'latches', at: end, message: `${id} ${message}`, operations: [], explanation });
    if (typeof outcome === 'string' && !EXPECTED.includes(outcome)) say(`got the unexpected error ${outcome}`);
    if (what !== 'await') continue;
    const set = lastSetBefore(model.latches, begin);
    if (set === undefined) continue;
    if (outcome === true && countsBetween(model.latches, set.begin, end) < set.count) {
      const latest = wait.seen ?? begin + SEES + UNANSWERED * commandTimeoutOf(model.run) + stalledFrom(wait, model);
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

/** A call that was not executed yet when the latch was set may have counted down the new one. */
const countsBetween = (all, from, to) =>
  all.filter((each) => each.what === 'count' && executedBy(each, all) > from && each.begin <= to).length;

/**
 * Until when a call may be executed. Without an answer that is until a later question of the same process is answered:
 * commands wait for a connection, and keep their order.
 */
function executedBy({ client, begin, end = Infinity, outcome }, all) {
  if (outcome !== 'LOCK_STORE') return end;
  const answered = all
    .filter((each) => each.client === client && each.begin > begin)
    .flatMap(({ what, end: at, outcome: told, seen }) => [
      ...(seen === undefined ? [] : [seen]),
      ...(what !== 'await' && typeof told !== 'string' && at !== undefined ? [at] : []),
    ]);
  return Math.min(...answered);
}

/** For how long its process did not run while it waited. */
const stalledFrom = ({ client, begin, end }, { stall }) =>
  stall
    .filter((each) => laneOf(each) === laneOf({ client }))
    .reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, end) - Math.max(from, begin)), 0);
