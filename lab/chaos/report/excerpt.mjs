/** ms shown before the events of a finding, and after them. */
const BEFORE = 1_500;
const AFTER = 300;
/** At most this many lines; the ones next to the finding. */
const MOST = 80;

/** Shown for every finding: the faults of the run, and its failures. */
const ALWAYS = ['begin', 'fault', 'failover', 'stall', 'up', 'down', 'surprise', 'eternal', 'revived', 'left'];

/**
 * The lines of a history that a finding is about: its operations, the other grants of the key, faults and stalls.
 * @param {readonly import('../../checker/check.mjs').ChaosEvent[]} events
 * @param {import('../../checker/check.mjs').Finding} finding
 * @returns {string[]}
 */
export function excerpt(events, { at, since = at, key, operations }) {
  const concerned = events.filter(({ op }) => operations.includes(op));
  const from = Math.min(since, ...concerned.map((event) => event.at)) - BEFORE;
  const to = Math.max(at, ...concerned.map((event) => event.at).filter((each) => each < at + BEFORE)) + AFTER;
  const isShown = (event) =>
    operations.includes(event.op) ||
    ALWAYS.includes(event.type) ||
    (event.type === 'ok' && event.tokens?.[key] !== undefined);
  const lines = events.filter(
    (event) => event.type === 'begin' || (event.at >= from && event.at <= to && isShown(event)),
  );
  const nearest = [...lines].sort((a, b) => Math.abs(a.at - at) - Math.abs(b.at - at)).slice(0, MOST);
  return lines.filter((line) => nearest.includes(line)).map((line) => JSON.stringify(line));
}
