import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SHORT_LIVED } from '../../scripts/lib/short-lived.mjs';
import { MUTATION_VARIABLE } from './mutations.mjs';

/** Seeds that a worker is given at a time. */
const CHUNK = 100;
/** After this many findings, more of them are of no use. */
const MOST_FINDINGS = 3;

/**
 * Has workers run the seeds from 1 (or `first`) on, and adds up their reports. The result does not depend on the number
 * of workers; with `stopsAtFirst` it ends at the first seed that fails.
 */
export async function runSeeds({ seeds, first = 1, workers, shrinks = true, stopsAtFirst = false, mutation }) {
  const sum = { seeds: 0, outcomes: {}, digest: 0, findings: [] };
  const enough = stopsAtFirst ? 1 : MOST_FINDINGS;
  const last = first + seeds - 1;
  let next = first;
  const takeChunk = () => {
    if (next > last || sum.findings.length >= enough) return undefined;
    const from = next;
    next = Math.min(from + CHUNK, last + 1);
    return { from, to: next - 1, shrinks, stopsAtFirst };
  };
  await Promise.all(Array.from({ length: workers }, () => work(takeChunk, (result) => add(sum, result), mutation)));
  sum.findings.sort((a, b) => a.seed - b.seed);
  return sum;
}

const register = new URL('typescript/register.mjs', import.meta.url).href;

/** One worker, from its first chunk to its last. */
function work(takeChunk, done, mutation) {
  const worker = fork(fileURLToPath(new URL('worker.mjs', import.meta.url)), {
    // Much is made and soon forgotten.
    execArgv: [...SHORT_LIVED, '--max-semi-space-size=32', '--import', register],
    env: { ...process.env, NODE_OPTIONS: '', [MUTATION_VARIABLE]: mutation ?? '' },
  });
  return new Promise((resolve, reject) => {
    const goOn = () => {
      const chunk = takeChunk();
      if (chunk !== undefined) worker.send(chunk);
      else if (worker.connected) worker.disconnect();
    };
    worker.on('message', (result) => {
      done(result);
      goOn();
    });
    worker.once('error', reject);
    worker.once('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`a worker ended with ${code === null ? signal : `exit code ${code}`}`));
    });
    goOn();
  });
}

function add(sum, { seeds, outcomes, digest, findings }) {
  sum.seeds += seeds;
  sum.digest = (sum.digest + digest) | 0;
  sum.findings.push(...findings);
  for (const [name, count] of Object.entries(outcomes)) sum.outcomes[name] = (sum.outcomes[name] ?? 0) + count;
}
