import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COUNTS_VARIABLE } from './count-reporter.mjs';
import { ROOT } from './paths.mjs';
import { REDIS_VARIABLE } from './redis-installation.mjs';
import { run } from './run.mjs';
import { SHORT_LIVED } from './short-lived.mjs';

/** MB for young objects: most of what a spec file makes is garbage soon. */
const YOUNG = 32;

/** Runs Jest with these arguments, on this Redis; resolves to its exit code, and how many tests have passed and failed. */
export async function runJest(jestArguments, installation, env = {}, stdio = 'inherit') {
  const directory = mkdtempSync(join(tmpdir(), 'locks-test-'));
  const file = join(directory, 'counts.json');
  try {
    const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
    const code = await run(process.execPath, [...SHORT_LIVED, jest, ...jestArguments], {
      stdio,
      env: {
        ...env,
        NODE_OPTIONS:
          `${process.env.NODE_OPTIONS ?? ''} --experimental-vm-modules --no-warnings=ExperimentalWarning --max-semi-space-size=${YOUNG}`.trim(),
        [COUNTS_VARIABLE]: file,
        [REDIS_VARIABLE]: JSON.stringify(installation),
      },
    });
    return { code, ...readCounts(file) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function readCounts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // Jest ended before it ran anything, and has said why.
    return { passed: 0, failed: 0 };
  }
}
