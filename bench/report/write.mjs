import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CHARTS, draw } from './charts.mjs';
import { toMarkdown } from './table.mjs';

const RESULTS = fileURLToPath(new URL('../results', import.meta.url));
/** Results of a run that is not complete: not committed, and they do not replace the results of a complete one. */
const PARTIAL = join(RESULTS, 'partial');
/** Every round and the distribution of waits: for a look behind the medians, not committed. */
const RAW = 'rounds.json';

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
  writeJson(join(directory, 'results.json'), toJson(report, summaryOf));
  writeJson(join(directory, RAW), toJson(report, rawOf));
  return table;
}

function toJson({ machine, run, scenarios }, resultOf) {
  return {
    machine,
    run,
    scenarios: scenarios.map(({ name, title, about, results }) => ({
      ...{ name, title, about },
      results: results.map(resultOf),
    })),
  };
}

const summaryOf = ({ library, variant, label, version, world, planned, errors, medians, waits }) => ({
  ...{ library, variant, label, version, world, planned, errors, medians },
  waits: waits && { count: waits.count, max: waits.max, mean: waits.mean },
});

const rawOf = ({ rounds, waits, ...result }) => ({
  ...summaryOf({ ...result, waits }),
  rounds,
  waits: waits && { ...summaryOf({ waits }).waits, upperEdges: Object.fromEntries(waits.classes) },
});

/** Objects of plain values take one line each. */
const FLAT = /\{\n\s+([^{}[\]]*?)\n\s+\}/g;

function writeJson(file, value) {
  const json = JSON.stringify(value, shorten, 1);
  writeFileSync(file, `${json.replace(FLAT, (_, inside) => `{ ${inside.replace(/\n\s+/g, ' ')} }`)}\n`);
}

const shorten = (_key, value) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value);
