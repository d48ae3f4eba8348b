import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from './build.mjs';
import { checkGenerated } from './generate-lua.mjs';
import { COUNTS_VARIABLE } from './lib/count-reporter.mjs';
import { tell } from './lib/counts.mjs';
import { ROOT } from './lib/paths.mjs';
import { REDIS_VARIABLE } from './lib/redis-installation.mjs';
import { run, runAsScript } from './lib/run.mjs';
import { checkNodeVersion, ensureNodeModules, ensureRedis } from './setup.mjs';

/** All tests, or those that the arguments (Jest's) choose. Ends with the line `N passed, N failed`. */
async function test(jestArguments) {
  checkNodeVersion();
  await ensureNodeModules();
  const { installation } = await ensureRedis();
  checkGenerated();
  // Tests that start processes of their own start them on the built library.
  await build();
  const { code, ...counts } = await runJest(jestArguments, installation);
  return tell(counts) || code;
}

async function runJest(jestArguments, installation) {
  const directory = mkdtempSync(join(tmpdir(), 'locks-test-'));
  const file = join(directory, 'counts.json');
  try {
    const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
    const code = await run(process.execPath, [jest, ...jestArguments], {
      env: {
        NODE_OPTIONS:
          `${process.env.NODE_OPTIONS ?? ''} --experimental-vm-modules --no-warnings=ExperimentalWarning`.trim(),
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

await runAsScript(() => test(process.argv.slice(2)));
