import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SOAK = fileURLToPath(new URL('../../lab/chaos/soak.mjs', import.meta.url));
const CYCLES = 22_000;

it(`${CYCLES} acquisitions and releases leave heap, timers, listeners, connections and keys as they were (a million: npm run soak)`, async () => {
  // Its counts are not the counts of a suite.
  const env = { ...process.env, NODE_OPTIONS: '', LOCKS_TEST_TOTALS: '' };
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', SOAK, '--cycles', String(CYCLES)], {
    env,
  });
  expect(stdout).toMatch(/^1 passed, 0 failed$/m);
  expect(stdout.match(/"heap"/g)).toHaveLength(11);
});
