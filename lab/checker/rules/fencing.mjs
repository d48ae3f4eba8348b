import { explanationOf, forgottenBetween } from '../assumptions.mjs';

/**
 * The resource that exclusive holders write to, with their tokens; it refuses every token below the largest it has
 * seen. It must never refuse the current holder, nor accept a write from a former holder once the next one has written.
 * Holders with a name are left out: holders that share a name write side by side.
 */
export function fencing(model) {
  const writes = model.holds
    .filter(({ mode, isNamed }) => mode === 'exclusive' && !isNamed)
    .flatMap((hold) => hold.writes.filter(({ key }) => key === hold.key).map(({ at, token }) => ({ at, token, hold })))
    .sort((a, b) => a.at - b.at);
  const found = [];
  /** For each key the write with the largest token, and the hold that began last among the holds that have written. */
  const seen = new Map();
  for (const { at, token, hold } of writes) {
    const { key } = hold;
    const { top, latest } = seen.get(key) ?? {};
    const isHeld = at >= hold.from && at <= hold.to;
    const isRefused = top !== undefined && token < top.token;
    if (isRefused && isHeld) {
      const what = `the resource refused ${hold.op}, which held '${key}', after ${top.hold.op}`;
      found.push(fault(model, at, top.hold, hold, what));
    }
    if (!isRefused && latest !== undefined && latest.from > hold.to) {
      const what = `the resource took what ${hold.op} wrote too late, after ${latest.op} on '${key}'`;
      found.push(fault(model, at, hold, latest, what));
    }
    seen.set(key, {
      top: isRefused ? top : { token, hold },
      latest: latest === undefined || hold.from > latest.from ? hold : latest,
    });
  }
  return found;
}

const earlierOf = (one, other) => (one.askedAt < other.askedAt ? one : other);

const fault = (model, at, one, other, message) => ({
  rule: 'fencing',
  at,
  key: one.key,
  message,
  operations: [one.op, other.op],
  explanation: explanationOf(model, one, other) ?? forgottenBetween(model, earlierOf(one, other), { at }),
});
