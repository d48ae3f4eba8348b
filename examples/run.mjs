// The examples, on a Redis of their own and on the library as it would be published: npm run test:examples
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run as runTests } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { build } from '../scripts/build.mjs';
import { tell } from '../scripts/lib/counts.mjs';
import { npm } from '../scripts/lib/node-modules.mjs';
import { runAsScript, runOrFail, StepFailed } from '../scripts/lib/run.mjs';
import { ensureAll, ensureNodeModules } from '../scripts/setup.mjs';

const EXAMPLES = fileURLToPath(new URL('.', import.meta.url));
const COMPILED = join(EXAMPLES, 'dist');

/** All examples, or the ones in the named directories: `npm run test:examples -- http graphql`. */
async function testExamples(chosen) {
  const redis = await ensureAll();
  await ensureNodeModules(EXAMPLES);
  await build();
  await installLibrary();
  await compile();
  const files = testFiles(chosen);
  if (files.length === 0)
    throw new StepFailed(`There is no example ${chosen.join(', ')}: name directories of examples/.`);
  const server = await redis.start();
  process.env.REDIS_URL = server.url;
  try {
    return tell(await run(files));
  } finally {
    await server.stop();
  }
}

/** Packs the library and installs the package, as users do: a file that the package forgets is missing here, too. */
async function installLibrary() {
  const directory = mkdtempSync(join(tmpdir(), 'locks-examples-'));
  try {
    await npm(['pack', '--silent', '--ignore-scripts', '--pack-destination', directory]);
    const [tarball] = readdirSync(directory);
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--engine-strict=false'];
    const unsaved = ['--no-save', '--no-package-lock', '--prefer-offline'];
    await npm(['install', '--prefix', EXAMPLES, ...unsaved, ...quiet, join(directory, tarball)]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function compile() {
  rmSync(COMPILED, { recursive: true, force: true });
  const tsc = join(EXAMPLES, 'node_modules/typescript/bin/tsc');
  await runOrFail(process.execPath, [tsc, '-p', EXAMPLES], { what: 'Compiling the examples' });
}

const testFiles = (chosen) =>
  readdirSync(COMPILED, { recursive: true })
    .filter((file) => file.endsWith('.test.js'))
    .filter((file) => chosen.length === 0 || chosen.some((name) => file.startsWith(name)))
    .map((file) => join(COMPILED, file));

/** Runs test files, two at a time, and counts the tests in them. */
async function run(files) {
  const counts = { passed: 0, failed: 0 };
  const tests = runTests({ files, concurrency: 2, timeout: 120_000 });
  tests.on('test:pass', ({ details }) => (counts.passed += details.type === 'suite' ? 0 : 1));
  // A suite fails with its tests; a failure of its own, such as a file that cannot be loaded, counts as one.
  tests.on('test:fail', ({ details }) => (counts.failed += details.error.failureType === 'subtestsFailed' ? 0 : 1));
  for await (const line of tests.compose(new spec())) process.stdout.write(line);
  return counts;
}

await runAsScript(() => testExamples(process.argv.slice(2)));
