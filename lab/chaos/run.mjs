// Clients that lock, faults, and a checker that judges the history: npm run chaos -- --help
import { runAsScript } from '../../scripts/lib/run.mjs';
import { build } from '../../scripts/build.mjs';
import { ensureAll } from '../../scripts/setup.mjs';
import { check } from '../checker/check.mjs';
import { readHistory } from './history/merge.mjs';
import { readOptions, USAGE } from './options.mjs';
import { writeRecovery } from './report/recovery-page.mjs';
import { print, summarise } from './report/summary.mjs';
import { writeRun } from './report/write.mjs';

async function chaos() {
  const { help, history, build: builds, recovery, ...options } = readOptions(process.argv.slice(2));
  if (help) return console.log(USAGE);
  const events = history === undefined ? await run(options, builds) : readHistory(history);
  const verdict = check(events);
  const summary = summarise(verdict);
  console.log(print(summary));
  if (recovery) writeRecovery(summary);
  if (history === undefined) console.log(`Everything is in ${writeRun({ events, verdict, summary })}`);
  return verdict.violations.length > 0 ? 1 : 0;
}

async function run(options, builds) {
  const { installation } = await ensureAll();
  // They need the packages that are installed by now.
  const { loadTopology } = await import('./topologies/index.mjs');
  const { prepare: prepareTopology } = await loadTopology(options.topology);
  await prepareTopology?.();
  if (builds) await build();
  const { runChaos } = await import('./harness/run.mjs');
  console.log(`seed ${options.seed}: to do the same again, add --seed ${options.seed}`);
  return runChaos({ ...options, installation, say: (text) => console.log(text) });
}

await runAsScript(chaos);
