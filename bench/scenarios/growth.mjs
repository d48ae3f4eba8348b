import { CONTENTION_COLUMNS, contentionMetrics } from '../harness/contention.mjs';
import { measure } from '../harness/measurement.mjs';

const POWERS = (last) => Array.from({ length: last + 1 }, (_, i) => 10 ** i);

const SIZES = {
  full: { waiters: POWERS(4), keys: POWERS(5), processes: [1, 2, 4, 8, 16, 32, 64] },
  quick: { waiters: POWERS(2), keys: POWERS(3), processes: [1, 2, 4] },
};

const AT_A_TIME = 100;
const MANY = { waiters: 10_000, processes: 32 };

const curve = (of, key) => ({ of: ({ what }) => what === of, lines: [{ key }] });

export default {
  name: 'growth',
  title: 'Growth',
  about:
    'How the cost grows: callers of one process that wait for one key; processes with one caller each that want one key; ' +
    'keys that one process holds while it acquires and releases others, 100 at a time.',
  columns: [...CONTENTION_COLUMNS, { key: 'cycle', title: 'µs per cycle', digits: 0 }],
  charts: ['growth'],
  curves: [
    { title: 'Callers of one process on one key: sections per second', ...curve('waiters', 'throughput') },
    { title: 'Processes on one key: sections per second', ...curve('processes', 'throughput') },
    { title: 'Other keys that the process holds: µs per cycle', ...curve('keys', 'cycle') },
  ],
  includes: ({ library, variant }) => library === 'ours' && variant === 'defaults',
  rounds: ({ rounds }) => Math.min(rounds, 3),

  expand(variants, { isQuick }) {
    const sizes = SIZES[isQuick ? 'quick' : 'full'];
    return variants.flatMap((variant) =>
      Object.entries(sizes).flatMap(([what, numbers]) =>
        numbers.map((n) => ({ ...variant, label: `${n} ${what}`, what, n })),
      ),
    );
  },

  measure(context, { library, what, n }, timing) {
    if (what === 'keys') return measureKeys(context, n, timing);
    // So many take longer for a turn each, and to warm up.
    const factor = n >= MANY[what] ? 4 : 1;
    const longer = { ...timing, warmUp: factor * timing.warmUp, window: factor * timing.window };
    return measureContention(context, { library, [what]: n }, longer);
  },
};

async function measureContention(context, { library, waiters = 1, processes = 1 }, timing) {
  const terms = { key: 'hot', waiters };
  return contentionMetrics(
    await measure(context, { processes, library, variant: 'patient', loop: 'contend', terms, timing }),
  );
}

async function measureKeys({ threads, server, target }, count, { window }) {
  await server.clear();
  const [thread] = await threads.take(1, 'ours');
  return thread.call('work', import.meta.url, 'cycleBesideHeld', { target, count, window });
}

/** In a thread. */
export async function cycleBesideHeld({ target, count, window, connectionTo, loadLibrary, sent }) {
  const { open } = await loadLibrary('ours');
  const client = await open({ connection: connectionTo(target) });
  const handles = [];
  while (handles.length < count) {
    const keys = Array.from({ length: Math.min(AT_A_TIME, count - handles.length) }, (_, i) => handles.length + i);
    handles.push(...(await Promise.all(keys.map((i) => client.acquire(`held:${i}`)))));
  }
  const [before, end] = [sent(), performance.now() + window];
  let cycles = 0;
  const caller = async (_, i) => {
    while (performance.now() < end) {
      await client.release(await client.acquire(`mine:${i}`));
      cycles++;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, caller));
  const commands = (sent() - before) / cycles;
  while (handles.length > 0) await Promise.all(handles.splice(0, AT_A_TIME).map((handle) => client.release(handle)));
  await client.close();
  return { throughput: (cycles / window) * 1_000, cycle: (window * 1_000) / cycles, commands };
}
