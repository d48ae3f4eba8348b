import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeHistory } from '../history/merge.mjs';
import { excerpt } from './excerpt.mjs';
import { picture } from './picture.mjs';

/**
 * @typedef {object} WrittenRun
 * @property {readonly import('../../checker/check.mjs').ChaosEvent[]} events
 * @property {import('../../checker/check.mjs').Verdict} verdict
 * @property {import('./summary.mjs').Summary} summary
 */

const RESULTS = fileURLToPath(new URL('../results/', import.meta.url));
const PICTURES = 10;

/**
 * Writes history, summary, pictures and the lines that violations are about into a directory of the run's own; answers which.
 * @param {WrittenRun} run
 * @returns {string}
 */
export function writeRun({ events, verdict, summary }) {
  const directory = join(RESULTS, `${summary.topology}-${summary.seed}`);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  writeHistory(join(directory, 'history.jsonl'), events);
  writeFileSync(join(directory, 'summary.json'), `${JSON.stringify(summary, null, 2)}\n`);
  draw(directory, 'violation', verdict.violations, verdict.model);
  draw(directory, 'explained', verdict.explained, verdict.model);
  for (const [i, finding] of verdict.violations.slice(0, PICTURES).entries()) {
    writeFileSync(join(directory, `violation-${i + 1}.jsonl`), `${excerpt(events, finding).join('\n')}\n`);
  }
  return directory;
}

function draw(directory, name, findings, model) {
  findings.slice(0, PICTURES).forEach((finding, i) => {
    writeFileSync(join(directory, `${name}-${i + 1}.svg`), picture(model, finding));
  });
}
