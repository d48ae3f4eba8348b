import { appendFileSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** In this variable `.ci/run` says where it collects the counts of all suites that it runs. */
const TOTALS_VARIABLE = 'LOCKS_TEST_TOTALS';

/**
 * Prints how many tests of a suite have passed and failed, and reports them to the process that adds them up. Returns
 * the exit code.
 */
export function tell({ passed, failed }) {
  if (passed + failed === 0) console.log('No test has run.');
  console.log(`${passed} passed, ${failed} failed`);
  const file = process.env[TOTALS_VARIABLE];
  if (file) appendFileSync(file, `${JSON.stringify({ passed, failed })}\n`);
  return passed === 0 || failed > 0 ? 1 : 0;
}

// `node scripts/lib/counts.mjs FILE` prints the sum.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const counts = readFileSync(process.argv[2], 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const sum = (name) => counts.reduce((total, count) => total + count[name], 0);
  console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
}
