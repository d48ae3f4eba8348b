// Schedules of callers and faults, on a clock and a network of their own: npm run simulation -- --help
import { fileURLToPath } from 'node:url';
import { tell } from '../../scripts/lib/counts.mjs';
import { run, runAsScript, StepFailed } from '../../scripts/lib/run.mjs';
import { checkNodeVersion, ensureNodeModules } from '../../scripts/setup.mjs';
import { findMutation, MUTATION_VARIABLE } from './mutations.mjs';
import { readOptions, USAGE } from './options.mjs';
import { runSeeds } from './pool.mjs';
import { describeFinding, summaryOf } from './report.mjs';

async function simulation() {
  const { help, seed, path, ...options } = readOptions(process.argv.slice(2));
  if (help) return console.log(USAGE);
  checkNodeVersion();
  await ensureNodeModules();
  if (options.mutation !== undefined && findMutation(options.mutation) === undefined) {
    throw new StepFailed(`there is no mutation '${options.mutation}'`);
  }
  if (seed !== undefined) return replay(seed, path, options.mutation);
  return tryAll(options);
}

async function tryAll(options) {
  const start = performance.now();
  const result = await runSeeds(options);
  for (const finding of result.findings) console.log(`${describeFinding(finding).join('\n')}\n`);
  console.log(summaryOf(result, (performance.now() - start) / 1_000).join('\n'));
  // However many schedules it runs, it is one test.
  return tell({ passed: result.findings.length === 0 ? 1 : 0, failed: result.findings.length });
}

function replay(seed, path, mutation = '') {
  const script = fileURLToPath(new URL('replay.mjs', import.meta.url));
  const register = new URL('typescript/register.mjs', import.meta.url).href;
  const args = ['--enable-source-maps', '--import', register, script, String(seed), ...(path ? [path] : [])];
  return run(process.execPath, args, { env: { [MUTATION_VARIABLE]: mutation } });
}

await runAsScript(simulation);
