// Schedules of callers and faults, on a clock and a network of their own: npm run simulation -- --help
import { availableParallelism } from 'node:os';
import { tell } from '../../scripts/lib/counts.mjs';
import { readArguments, runAsScript, StepFailed } from '../../scripts/lib/run.mjs';
import { checkNodeVersion, ensureNodeModules } from '../../scripts/setup.mjs';
import { findMutation } from '../mutations/list.mjs';
import { replay, runSeeds } from './pool.mjs';
import { describeFinding, summaryOf } from './report.mjs';

const USAGE = `npm run simulation -- [options]

  --seeds n           how many schedules to run, those of the seeds 1 to n (20000)
  --from n            the first seed (1)
  --workers n         processes that run them (as many as there are processors, 4 at most)
  --seed n            runs the schedule of one seed, and tells every step
  --path p            with --seed: the smaller schedule that was found to fail, as it was printed
  --mutation name     runs the seeds with one mutation
  --help
`;

async function simulation() {
  const texts = ['seeds', 'from', 'workers', 'seed', 'path', 'mutation'];
  const { values } = readArguments(process.argv.slice(2), USAGE, { texts });
  if (values.help) return console.log(USAGE);
  const countOf = (name, otherwise) => {
    const count = Number(values[name] ?? otherwise);
    if (Number.isSafeInteger(count) && count > 0) return count;
    throw new StepFailed(`--${name} takes a whole number from 1`);
  };
  checkNodeVersion();
  await ensureNodeModules();
  const { seed, path, mutation } = values;
  if (mutation !== undefined && findMutation(mutation) === undefined) {
    throw new StepFailed(`there is no mutation '${mutation}'`);
  }
  if (seed !== undefined) return Number(await replay(countOf('seed'), path, mutation));
  const workers = countOf('workers', Math.min(4, availableParallelism()));
  return tryAll({ seeds: countOf('seeds', 20_000), first: countOf('from', 1), workers, mutation });
}

async function tryAll(options) {
  const start = performance.now();
  const result = await runSeeds(options);
  for (const finding of result.findings) console.log(`${describeFinding(finding).join('\n')}\n`);
  console.log(summaryOf(result, (performance.now() - start) / 1_000).join('\n'));
  // However many schedules it runs, it is one test.
  return tell({ passed: result.findings.length === 0 ? 1 : 0, failed: result.findings.length });
}

await runAsScript(simulation);
