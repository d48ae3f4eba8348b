// The lowest cost of a handoff on this machine: threads that only notify the next thread. npm run bench:floor
import { ensureAll } from '../scripts/setup.mjs';
import { runAsScript } from '../scripts/lib/run.mjs';
import { ensurePeers } from './harness/install.mjs';
import { Thread } from './harness/threads.mjs';

const THREAD = new URL('./harness/ring.mjs', import.meta.url);
const LASTS = 5_000;

/** As in the scenarios of the same names; `commands` beside the message: the next place in the queue. */
const RINGS = [
  { name: 'hot-16x1', threads: 16, sectionMs: 0, commands: 1 },
  { name: 'slow-network', threads: 8, sectionMs: 5, commands: 1, delay: 1 },
];

async function floor() {
  const redis = await ensureAll();
  await ensurePeers();
  const server = await redis.start();
  const { openSlowNetwork } = await import('./harness/slow-network.mjs');
  try {
    for (const { name, delay, ...ring } of RINGS) {
      const direct = { host: server.host, port: server.port };
      const network = delay === undefined ? { target: direct } : await openSlowNetwork(direct, delay);
      const { handoffs, gap } = await turn(network.target, ring);
      await network.close?.();
      const trips = network.roundTrip === undefined ? '' : `, ${(gap / network.roundTrip).toFixed(2)} round trips`;
      console.log(`${name}: ${handoffs.toFixed(0)} handoffs/s, gap p50 ${gap.toFixed(2)} ms${trips}`);
    }
  } finally {
    await server.stop();
  }
}

/** The threads of a ring notify each other, one after the other, until the time is over. */
async function turn(target, { threads: count, sectionMs, commands }) {
  const lastSent = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
  const threads = Array.from({ length: count }, () => new Thread(THREAD));
  await Promise.all(
    threads.map((thread, place) => thread.call('join', { target, place, count, sectionMs, commands, lastSent })),
  );
  await threads[0].call('begin');
  await new Promise((resolve) => setTimeout(resolve, LASTS));
  const gaps = (await Promise.all(threads.map((thread) => thread.call('stop')))).flat().sort((a, b) => a - b);
  await Promise.all(threads.map((thread) => thread.end()));
  return { handoffs: (gaps.length / LASTS) * 1_000, gap: gaps[gaps.length >> 1] };
}

await runAsScript(floor);
