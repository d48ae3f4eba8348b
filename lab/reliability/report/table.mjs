import { FAULTS } from '../faults/index.mjs';
import { TOPOLOGIES } from '../topologies/index.mjs';

const HEAD = [
  '| fault | topology | hold: expected | hold: observed | failed calls | holders | waiters | new callers | asserted in |',
  '|---|---|---|---|---|---|---|---|---|',
];
const EXPECTED = { kept: 'kept', lost: 'lost, holder notified', either: 'kept, or lost and holder notified' };

/** All results as a table of Markdown; `root` is where links to tests begin. */
export function table(results, { root }) {
  return [...HEAD, ...results.map((result) => row(result, root))].join('\n');
}

function row({ fault, topology, hold, test, times, problems, ...result }, root) {
  const cells = [
    FAULTS[fault].title,
    TOPOLOGIES[topology].title,
    EXPECTED[hold],
    problems.length > 0 ? `**${problems.join('; ')}**` : observed(result),
    failures(result.failures),
    ...['holders', 'waiters', 'newCallers'].map((role) => time(times[role])),
    `[${test.replace(/^.*\//, '').replace('.spec.ts', '')}](${root}${test})`,
  ];
  return `| ${cells.join(' | ')} |`;
}

function observed({ kept, rounds, toldWithin }) {
  const notified = toldWithin === undefined ? '' : `, notified after ${seconds(toldWithin)} at most`;
  if (kept === rounds) return `kept ${kept} of ${rounds} times`;
  if (kept === 0) return `lost ${rounds} of ${rounds} times${notified}`;
  return `kept ${kept} of ${rounds} times${notified}`;
}

function failures(codes) {
  const all = Object.entries(codes).map(([code, count]) => `${code} ≤ ${count}`);
  return all.length === 0 ? 'none' : all.join(', ');
}

const time = (of) => (of === undefined ? '' : `${seconds(of.median)} (${seconds(of.worst)})`);

const seconds = (ms) => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`);
