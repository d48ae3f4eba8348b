import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toMarkdown } from './table.mjs';

const RESULTS = fileURLToPath(new URL('../results', import.meta.url));
/** What is not a complete run: not committed, and not put in the place of one. */
const PARTIAL = join(RESULTS, 'partial');

/** Writes the table, the figures and the charts, and returns the table. */
export function writeResults(report) {
  const directory = report.run.isComplete ? RESULTS : PARTIAL;
  if (!report.run.isComplete) rmSync(PARTIAL, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const table = toMarkdown(report);
  writeFileSync(join(directory, 'results.md'), table);
  writeFileSync(join(directory, 'results.json'), `${JSON.stringify(toJson(report), undefined, 1)}\n`);
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
        waits: waits && { count: waits.count, max: waits.max, mean: waits.mean, upperEdges: waits.classes },
      })),
    })),
  };
}
