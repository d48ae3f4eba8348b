import { causeOf } from '../../checker/assumptions.mjs';
import { calmPulse, recoveries, summariseRecoveries } from './recovery.mjs';

/** How many findings of each sort are printed. */
const SHOWN = 8;

/**
 * The results of a run, as data: the figures of the summary that is printed, and of `summary.json`.
 * @typedef {ReturnType<typeof summarise>} Summary
 * @param {import('../../checker/check.mjs').Verdict} verdict
 */
export function summarise({ model, violations, explained }) {
  const { seed, topology, length } = model.run;
  return {
    ...{ seed, topology, seconds: Math.round(length / 1_000), violations, explained },
    /** How acquisitions ended. */
    acquisitions: countBy(model.operations, ({ outcome }) => outcomeOf(outcome)),
    /** Kinds of locks that were granted. */
    kinds: countBy(
      model.operations.filter(({ isGranted }) => isGranted),
      ({ kind }) => kind,
    ),
    holds: model.holds.length,
    lost: model.operations.filter(({ marks }) => marks.some(({ type }) => type === 'lost')).length,
    /** Holds of each client. */
    clients: countBy(model.holds, ({ lane }) => lane),
    faults: countBy(model.faults, ({ kind }) => kind),
    /** By their causes. */
    failovers: countBy(model.failovers, (failover) => causeOf(failover, model.faults)?.kind ?? 'no fault'),
    /** ms that a pulse takes while no fault is in force. */
    calmPulse: calmPulse(model),
    /** ms to normal service, for each kind of fault. */
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
