import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeHistory } from '../history/merge.mjs';
import { excerpt } from './excerpt.mjs';

/**
 * @typedef {object} WrittenRun
 * @property {readonly import('../../checker/check.mjs').ChaosEvent[]} events
 * @property {import('../../checker/check.mjs').Verdict} verdict
 * @property {import('./summary.mjs').Summary} summary
 */

const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));
const EXCERPTS = 10;

/**
 * Writes history, summary and the lines that findings are about into a directory of the run's own; answers which.
 * @param {WrittenRun} run
 * @returns {string}
 */
export function writeRun({ events, verdict, summary }) {
  const directory = join(RESULTS, `${summary.topology}-${summary.seed}`);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  writeHistory(join(directory, 'history.jsonl'), events);
  writeFileSync(join(directory, 'summary.json'), `${JSON.stringify(summary, null, 2)}\n`);
  for (const [name, findings] of Object.entries({ violation: verdict.violations, explained: verdict.explained })) {
    for (const [i, finding] of findings.slice(0, EXCERPTS).entries())
      writeFileSync(join(directory, `${name}-${i + 1}.jsonl`), `${excerpt(events, finding).join('\n')}\n`);
  }
  return directory;
}
