import { explanationOf } from '../assumptions.mjs';

/**
 * Counters that exclusive holders read, and later write one more into. Two holders never write the same value: an update
 * would be lost.
 *
 * Only updates count that a holder has written while its hold was valid. Nothing stops a process that is paused right
 * before its write, and another one whose process died may have been written or not. After such a write, values may repeat.
 */
export function updates(model) {
  const found = [];
  for (const all of byKey(model).values()) {
    const spoilt = all.filter(({ isInTime }) => !isInTime);
    const written = new Map();
    for (const update of all.filter((each) => each.isInTime && !spoilt.some((other) => meets(each, other)))) {
      const era = spoilt.filter(({ end }) => end <= update.begin).length;
      const place = `${era} ${update.value}`;
      const earlier = written.get(place);
      if (earlier !== undefined) found.push(lost(model, earlier, update));
      // The holders after it write the same values as those after the first.
      if (earlier !== undefined) written.clear();
      written.set(place, update);
    }
  }
  return found;
}

function byKey({ operations, holds, down }) {
  const keys = new Map();
  const holdOf = new Map(holds.map((hold) => [hold.op, hold]));
  for (const operation of operations.filter((each) => each.updates.length > 0)) {
    const [{ at: begin, key, value }, after] = operation.updates;
    const hold = holdOf.get(operation.op);
    const isInTime = hold !== undefined && begin >= hold.from && after !== undefined && after.at <= hold.to;
    const death = down.find(({ client, at }) => client === operation.client && at >= begin);
    const end = after?.at ?? death?.at ?? Infinity;
    if (!keys.has(key)) keys.set(key, []);
    keys.get(key).push({ key, value, begin, end, isInTime, hold });
  }
  for (const all of keys.values()) all.sort((a, b) => a.end - b.end);
  return keys;
}

const meets = (one, other) => one.begin < other.end && other.begin < one.end;

const lost = (model, earlier, later) => ({
  rule: 'updates',
  at: later.end,
  key: later.key,
  message: `an update of the counter of '${later.key}' is lost: ${earlier.hold.op} and ${later.hold.op} wrote ${later.value}`,
  operations: [earlier.hold.op, later.hold.op],
  explanation: explanationOf(model, earlier.hold, later.hold),
});
