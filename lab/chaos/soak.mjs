// `npm run soak`: acquires and releases a million locks in one process, and checks for growth. `--cycles n` for fewer.
import { parseArgs } from 'node:util';
import { createLockService } from '../../dist/esm/module/redis-lock.composition.js';
import { resolveModuleOptions } from '../../dist/esm/module/redis-lock.options.js';
import { tell } from '../../scripts/lib/counts.mjs';
import { findRedis } from '../../scripts/lib/redis-installation.mjs';
import { runAsScript } from '../../scripts/lib/run.mjs';
import { startRedis } from '../testbed/servers/redis-server.mjs';

const AT_A_TIME = 64;
const SAMPLES = 11;
/** How many of the first samples are compared with as many of the last ones. */
const COMPARED = 3;
/** By how many bytes the heap may differ, whatever the number of cycles in between. */
const NOISE = 1_000_000;

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };

async function main() {
  const { values } = parseArgs({ options: { cycles: { type: 'string', default: '1000000' } } });
  const server = await startRedis({ installation: await findRedis() });
  const warnings = [];
  process.on('warning', (warning) => warnings.push(warning.message));
  try {
    const service = createLockService(resolveModuleOptions({ connection: server.url }), SILENT);
    await service.start();
    const samples = [];
    for (let i = 0; i < SAMPLES; i++) {
      await cycle(service, Math.ceil(Number(values.cycles) / SAMPLES));
      samples.push(await look(server));
      console.log(JSON.stringify(samples.at(-1)));
    }
    await service.close();
    return report(samples, warnings);
  } finally {
    await server.stop();
  }
}

async function cycle(service, count) {
  let left = count;
  const caller = async (_, i) => {
    while (left-- > 0) await (await service.acquire(`mine:${i}`)).release();
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, caller));
}

/** The resources of the process and of Redis while no lock is held. */
async function look({ admin }) {
  globalThis.gc();
  const clients = await admin.client('LIST');
  return {
    heap: process.memoryUsage().heapUsed,
    resources: process.getActiveResourcesInfo().length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    keys: await admin.dbsize(),
    connections: String(clients).trim().split('\n').length,
    subscriptions: (await admin.pubsub('CHANNELS')).length,
  };
}

/**
 * Resources that come and go do not grow: the smallest of the last samples must not exceed the largest of the first
 * ones.
 */
function report(samples, warnings) {
  const [first, last] = [samples.slice(0, COMPARED), samples.slice(-COMPARED)];
  const problems = warnings.map((warning) => `a warning: ${warning}`);
  for (const name of Object.keys(samples[0])) {
    const before = Math.max(...first.map((sample) => sample[name]));
    const after = Math.min(...last.map((sample) => sample[name]));
    if (after > before + (name === 'heap' ? NOISE : 0)) problems.push(`${name} has grown from ${before} to ${after}`);
  }
  for (const problem of problems) console.error(problem);
  return tell({ passed: problems.length === 0 ? 1 : 0, failed: problems.length });
}

await runAsScript(main);
