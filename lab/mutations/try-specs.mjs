import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import jestConfig from '../../jest.config.js';
import { runJest } from '../../scripts/lib/jest.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { moduleOf, mutatedModule } from './mutate.mjs';

/** ms after which a test has failed: a mutation may make it wait for what never happens. */
const LONGEST_TEST = 100_000;

/** The results without a mutation, by the spec and the test: several mutations share a spec. */
const unchangedRuns = new Map();

/**
 * Runs a spec on the library with a mutation in it, and says which test finds it.
 * @param {import('./list.mjs').SpecMutation} mutation
 * @returns {Promise<import('./run.mjs').Result>}
 */
export async function trySpec(mutation, { installation }) {
  const start = performance.now();
  const { failed, passed, first } = await runSpec(mutation, mutation, installation);
  const after = (performance.now() - start) / 1_000;
  if (failed === 0) return { isFound: false, by: `${passed} tests of ${mutation.spec} pass`, after };
  const name = `${mutation.spec} ${mutation.test}`;
  const unchanged = unchangedRuns.get(name) ?? (await runSpec(undefined, mutation, installation));
  unchangedRuns.set(name, unchanged);
  if (unchanged.failed > 0 || unchanged.passed === 0) {
    return { isFound: false, by: `${mutation.spec} fails without it: ${unchanged.first}`, after };
  }
  return { isFound: true, by: `${mutation.spec}: ${first}`, after };
}

/** How many tests have passed and failed, and the name of the first failed one. */
async function runSpec(mutation, { spec, test }, installation) {
  const directory = mkdtempSync(join(tmpdir(), 'locks-mutation-'));
  const config = join(directory, 'config.json');
  const results = join(directory, 'results.json');
  try {
    writeFileSync(config, JSON.stringify(configFor(mutation, directory)));
    const only = test === undefined ? [] : ['--testNamePattern', test];
    const files = ['--config', config, '--json', '--outputFile', results];
    const args = [...files, '--silent', '--forceExit', '--runTestsByPath', ...only, join(ROOT, spec)];
    await runJest(args, installation, {}, ['ignore', 'ignore', 'ignore']);
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(results, 'utf8'));
    const [broken] = testResults.filter(({ assertionResults }) => assertionResults.length === 0);
    if (broken !== undefined) throw new Error(`${spec} does not run: ${broken.message}`);
    const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
    const first = tests.find(({ status }) => status === 'failed')?.title;
    return { passed: numPassedTests, failed: numFailedTests, first };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The project's configuration, with a transformer that puts the mutation in place. */
function configFor(mutation, directory) {
  // One worker: there is one spec, and each further worker would load Jest for nothing.
  const config = { ...jestConfig, rootDir: ROOT, reporters: [], testTimeout: LONGEST_TEST, maxWorkers: 1 };
  if (mutation === undefined) return config;
  const mutated = join(directory, 'mutated.ts');
  writeFileSync(mutated, mutatedModule(mutation));
  const [[pattern, [, options]]] = Object.entries(jestConfig.transform);
  const terms = { ...options, file: join(ROOT, moduleOf(mutation)), mutated };
  return { ...config, transform: { [pattern]: ['<rootDir>/lab/mutations/transform.mjs', terms] } };
}
