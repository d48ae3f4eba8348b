import { causeOf } from '../../checker/assumptions.mjs';
import { calmPulse, recoveries, summariseRecoveries } from './recovery.mjs';

/**
 * @typedef {Readonly<Record<string, number>>} Counts
 *
 * @typedef {{ readonly median: number | undefined, readonly worst: number | undefined }} Spread
 *
 * @typedef {object} Recovery ms to normal service, for a kind of fault
 * @property {string} kind
 * @property {number} count
 * @property {number} never
 * @property {number} kept locks of other clients that were held when such a fault began, and were not lost
 * @property {number} lost
 * @property {Spread} fromBegin
 * @property {Spread} fromEnd
 *
 * @typedef {object} Summary
 * @property {number} seed
 * @property {string} topology
 * @property {number} seconds
 * @property {readonly import('../../checker/check.mjs').Finding[]} violations
 * @property {readonly import('../../checker/check.mjs').ExplainedFinding[]} explained
 * @property {Counts} acquisitions how acquisitions ended
 * @property {Counts} kinds kinds of locks that were granted
 * @property {number} holds
 * @property {number} lost
 * @property {Counts} clients holds of each client
 * @property {Counts} faults
 * @property {Counts} failovers by their causes
 * @property {Spread} calmPulse ms that a pulse takes while no fault is in force
 * @property {readonly Recovery[]} recovery
 */

/** How many findings of each sort are printed. */
const SHOWN = 8;

/**
 * The results of a run, as data: the figures of the summary that is printed, and of `summary.json`.
 * @param {import('../../checker/check.mjs').Verdict} verdict
 * @returns {Summary}
 */
export function summarise({ model, violations, explained }) {
  const { seed, topology, length } = model.run;
  return {
    ...{ seed, topology, seconds: Math.round(length / 1_000), violations, explained },
    acquisitions: countBy(model.operations, ({ outcome }) => outcomeOf(outcome)),
    kinds: countBy(
      model.operations.filter(({ isGranted }) => isGranted),
      ({ kind }) => kind,
    ),
    holds: model.holds.length,
    lost: model.operations.filter(({ marks }) => marks.some(({ type }) => type === 'lost')).length,
    clients: countBy(model.holds, ({ lane }) => lane),
    faults: countBy(model.faults, ({ kind }) => kind),
    failovers: countBy(model.failovers, (failover) => causeOf(failover, model.faults)?.kind ?? 'no fault'),
    calmPulse: calmPulse(model),
    recovery: summariseRecoveries(recoveries(model)),
  };
}

const outcomeOf = (outcome) =>
  outcome === undefined ? 'pending' : outcome.type === 'fail' ? outcome.code : outcome.type;

/**
 * The same for people.
 * @param {Summary} summary
 * @returns {string}
 */
export function print(summary) {
  const { seed, topology, seconds, violations, explained, recovery, calmPulse } = summary;
  const list = (counts) =>
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ');
  return [
    `chaos on ${topology}, seed ${seed}, ${seconds} s`,
    '',
    `  acquisitions  ${list(summary.acquisitions)}`,
    `  granted       ${list(summary.kinds)}`,
    `  holds         ${summary.holds} (${list(summary.clients)}); ${summary.lost} lost while held`,
    `  faults        ${list(summary.faults)}`,
    ...(Object.keys(summary.failovers).length > 0 ? [`  failovers     by ${list(summary.failovers)}`] : []),
    '',
    ...table([
      ['ms to normal service, of faults alone', 'times', 'median', 'worst', 'after its end: median', 'worst'],
      ...recovery.map(({ kind, count, never, fromBegin, fromEnd }) => [
        `  ${kind}${never > 0 ? ` (${never} never)` : ''}`,
        ...[count, fromBegin.median, fromBegin.worst, fromEnd.median, fromEnd.worst],
      ]),
      ['  (a pulse while nothing fails)', '', calmPulse.median, calmPulse.worst, '', ''],
    ]),
    '',
    ...some(explained, (each) => `explained by fault ${each.fault}, "${each.assumption}": ${tell(each)}`),
    ...some(violations, (each) => `VIOLATION of ${tell(each)}`),
    `${violations.length} violations; ${explained.length} explained by assumptions that were broken on purpose` +
      (explained.length > 0 ? ` (${list(countBy(explained, ({ assumption }) => assumption))})` : ''),
  ].join('\n');
}

const tell = ({ rule, at, message }) => `${rule} at ${(at / 1_000).toFixed(3)} s: ${message}`;

/** The first few; `summary.json` has them all. */
function some(findings, describe) {
  const lines = findings.slice(0, SHOWN).map((each) => `  ${describe(each)}`);
  return findings.length > SHOWN ? [...lines, `  and ${findings.length - SHOWN} more, in summary.json`] : lines;
}

function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => String(row[column] ?? '-').length)));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const text = String(cell ?? '-');
        return column === 0 ? text.padEnd(widths[0]) : text.padStart(widths[column]);
      })
      .join('  '),
  );
}

function countBy(things, nameOf) {
  const counts = {};
  for (const thing of things) counts[nameOf(thing)] = (counts[nameOf(thing)] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort(([, a], [, b]) => b - a));
}
