// Schedules of callers and faults, on a clock and a network of their own: npm run simulation -- --help
import { fileURLToPath } from 'node:url';
import { tell } from '../../scripts/lib/counts.mjs';
import { run, runAsScript, StepFailed } from '../../scripts/lib/run.mjs';
import { checkNodeVersion, ensureNodeModules } from '../../scripts/setup.mjs';
import { findMutation, MUTATION_VARIABLE, MUTATIONS } from './mutations.mjs';
import { readOptions, USAGE } from './options.mjs';
import { runSeeds } from './pool.mjs';
import { describeFinding, summaryOf } from './report.mjs';
import { trySimulation } from './try-mutations.mjs';

async function simulation() {
  const { help, seed, path, mutations, ...options } = readOptions(process.argv.slice(2));
  if (help) return console.log(USAGE);
  checkNodeVersion();
  await ensureNodeModules();
  if (options.mutation !== undefined && findMutation(options.mutation) === undefined) {
    throw new StepFailed(`there is no mutation '${options.mutation}'`);
  }
  if (seed !== undefined) return replay(seed, path, options.mutation);
  return mutations ? tryMutations(options) : tryAll(options);
}

async function tryAll(options) {
  const start = performance.now();
  const result = await runSeeds(options);
  for (const finding of result.findings) console.log(`${describeFinding(finding).join('\n')}\n`);
  console.log(summaryOf(result, (performance.now() - start) / 1_000).join('\n'));
  // However many schedules it runs, it is one test.
  return tell({ passed: result.findings.length === 0 ? 1 : 0, failed: result.findings.length });
}

/** Whether the simulation would find anything: the library with one line changed at a time. */
async function tryMutations({ seeds, workers }) {
  console.log('| mutation | what was changed | seeds | rule |\n|---|---|---|---|');
  let failed = 0;
  for (const mutation of MUTATIONS) {
    const { isFound, seed, rule } = await trySimulation(mutation, { seeds, workers });
    if (!isFound) failed += 1;
    const found = isFound ? `${seed} | \`${rule}\`` : `not in ${seeds} | `;
    console.log(`| ${mutation.name} | ${mutation.what} | ${found} |`);
  }
  return tell({ passed: MUTATIONS.length - failed, failed });
}

function replay(seed, path, mutation = '') {
  const script = fileURLToPath(new URL('replay.mjs', import.meta.url));
  const register = new URL('typescript/register.mjs', import.meta.url).href;
  const args = ['--enable-source-maps', '--import', register, script, String(seed), ...(path ? [path] : [])];
  return run(process.execPath, args, { env: { [MUTATION_VARIABLE]: mutation } });
}

await runAsScript(simulation);
