import { format } from './format.mjs';

const WORLDS = { 'best Node peer': undefined, 'best of the JVM': 'JVM', 'best of Go': 'Go' };
const OWN = ['ours', 'raw', 'scripts'];

/**
 * One row for each scenario with throughput: ours, and of each language the library with the most. `[]` for a run with
 * one language. Throughput of a hot key says little without fairness, so both stand in a cell.
 */
export function worldsTable(scenarios) {
  if (!scenarios.some(({ results }) => results.some(({ world }) => world !== undefined))) return [];
  const rows = scenarios.flatMap(({ title, columns, results, curves }) => {
    const measured = results.filter(
      ({ medians, errors }) => Number.isFinite(medians.throughput) && errors.length === 0,
    );
    const isThroughput = columns.some(({ key }) => key === 'throughput');
    if (!isThroughput || curves !== undefined || measured.length === 0) return [];
    const best = Object.values(WORLDS).map((world) => fastest(measured, world));
    const [ours, background] = ['defaults', 'background'].map((wanted) =>
      measured.find(({ library, variant }) => library === 'ours' && variant === wanted),
    );
    return [`| ${[title, cell(ours), cell(background), ...best.map((result) => cell(result, true))].join(' | ')} |`];
  });
  if (rows.length === 0) return [];
  return [
    '## The languages side by side',
    '',
    "Sections or cycles per second. For a hot key also Jain's index and the longest wait. Of each language, the library with the most throughput that did not fail.",
    '',
    `| scenario | nestjs-redis-locks | the same, release in the background | ${Object.keys(WORLDS).join(' | ')} |`,
    '|---|---|---|---|---|---|',
    ...rows,
    '',
  ];
}

const fastest = (results, wanted) =>
  results
    .filter(({ library, world }) => world === wanted && !OWN.includes(library))
    .sort((a, b) => b.medians.throughput - a.medians.throughput)[0];

function cell(result, isNamed = false) {
  if (result === undefined) return '';
  const { throughput, jain, longest } = result.medians;
  const fairness = Number.isFinite(jain) ? ` (Jain ${format(jain, 2)}, longest wait ${format(longest, 0)} ms)` : '';
  return `${format(throughput, 0)}${fairness}${isNamed ? `: ${result.label}` : ''}`;
}
