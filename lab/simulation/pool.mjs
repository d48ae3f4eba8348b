import { WorkerProcess } from '../testbed/workers/processes.mjs';
import { MUTATION_VARIABLE } from '../mutations/list.mjs';
import { add } from './report.mjs';

/** Seeds that a worker is given at a time. */
const CHUNK = 100;
/** After this many findings, more of them are of no use. */
const MOST_FINDINGS = 3;
const WORKER = new URL('worker.mjs', import.meta.url);
const TYPESCRIPT = ['--import', new URL('typescript/register.mjs', import.meta.url).href];

/**
 * Has workers run the seeds from 1 (or `first`) on, and adds up their reports. The result does not depend on the number
 * of workers; with `stopsAtFirst` it ends at the first seed that fails.
 */
export async function runSeeds({ seeds, first = 1, workers, shrinks = true, stopsAtFirst = false, mutation }) {
  const sum = { seeds: 0, outcomes: {}, digest: 0, findings: [] };
  const enough = stopsAtFirst ? 1 : MOST_FINDINGS;
  const last = first + seeds - 1;
  let next = first;
  const work = async (worker) => {
    while (next <= last && sum.findings.length < enough) {
      const from = next;
      next = Math.min(from + CHUNK, last + 1);
      const part = await worker.call('search', { from, to: next - 1, shrinks, stopsAtFirst });
      sum.seeds += part.seeds;
      add(sum, part);
    }
  };
  // Much is made and soon forgotten.
  const youngSpace = '--max-semi-space-size=32';
  await Promise.all(Array.from({ length: workers }, () => withWorker(mutation, youngSpace, work)));
  sum.findings.sort((a, b) => a.seed - b.seed);
  return sum;
}

/** Runs one schedule, and prints every step. Resolves to whether it fails. */
export const replay = (seed, path, mutation) =>
  withWorker(mutation, '--enable-source-maps', (worker) => worker.call('replay', seed, path));

async function withWorker(mutation = '', argument, use) {
  const worker = new WorkerProcess(WORKER, {
    nodeArgs: [argument, ...TYPESCRIPT],
    env: { [MUTATION_VARIABLE]: mutation },
  });
  try {
    return await use(worker);
  } finally {
    await worker.kill();
  }
}
