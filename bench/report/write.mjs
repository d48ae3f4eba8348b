import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CHARTS, draw } from './charts.mjs';
import { toMarkdown } from './table.mjs';

const RESULTS = fileURLToPath(new URL('../results', import.meta.url));
/** What is not a complete run: not committed, and not put in the place of one. */
const PARTIAL = join(RESULTS, 'partial');

/** Writes the table, the figures and the charts, and returns the table. */
export function writeResults(report) {
  const directory = report.run.isComplete ? RESULTS : PARTIAL;
  if (!report.run.isComplete) rmSync(PARTIAL, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const charts = Object.keys(CHARTS).map((name) => [name, draw(name, report.scenarios)]);
  const drawn = charts.filter(([, chart]) => chart !== undefined);
  for (const [name, chart] of drawn) writeFileSync(join(directory, `${name}.svg`), chart);
  const table = toMarkdown({ ...report, charts: drawn.map(([name]) => name) });
  writeFileSync(join(directory, 'results.md'), table);
  writeFileSync(join(directory, 'results.json'), `${JSON.stringify(toJson(report), shorten, 1)}\n`);
  return table;
}

function toJson({ machine, run, scenarios }) {
  return {
    machine,
    run,
    scenarios: scenarios.map(({ name, title, about, results }) => ({
      ...{ name, title, about },
      results: results.map(({ library, variant, label, version, errors, medians, rounds, waits }) => ({
        ...{ library, variant, label, version, errors, medians, rounds },
        waits: waits && {
          count: waits.count,
          max: waits.max,
          mean: waits.mean,
          upperEdges: Object.fromEntries(waits.classes),
        },
      })),
    })),
  };
}

const shorten = (_key, value) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value);
