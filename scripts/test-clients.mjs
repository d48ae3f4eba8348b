import { build } from './build.mjs';
import { tell } from './lib/counts.mjs';
import { runJest } from './lib/jest.mjs';
import { runAsScript } from './lib/run.mjs';
import { ensureAll } from './setup.mjs';

/** The specs whose connections are clients of node-redis here. */
const SPECS = [
  'test/contract/(redis|cluster).spec',
  'test/integration/(locks|kinds|latch|election|cluster|sentinel)/',
  'test/faults/',
];
/** The library's own questions to all Sentinels: node-redis asks one, and may wait for a frozen one without a limit. */
const OF_SENTINELS = ['sentinel/(closing|watching)', 'frozen-sentinel', 'sentinel-cut-off'];
const OTHERS = [...OF_SENTINELS, 'stale-replica', 'closed-twice', 'many-waiters', 'limited-servers'];

/** Runs the contract, the integration tests and the fault tests with node-redis in the place of ioredis. */
async function test(jestArguments) {
  const { installation } = await ensureAll();
  await build();
  process.env.LOCKS_TEST_CLIENT = 'node-redis';
  const chosen = jestArguments.length > 0 ? jestArguments : SPECS;
  const { code, ...counts } = await runJest([...chosen, '--testPathIgnorePatterns', ...OTHERS], installation);
  return tell(counts) || code;
}

await runAsScript(() => test(process.argv.slice(2)));
