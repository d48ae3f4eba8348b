import { usedHeap } from '../harness/heap.mjs';

const AT_A_TIME = 64;

const SIZES = {
  full: { cycles: 1_000_000, samples: 10, many: 10_000 },
  quick: { cycles: 10_000, samples: 5, many: 1_000 },
};

export default {
  name: 'memory',
  title: 'Memory',
  about:
    'The heap of one process, after garbage collection: over 1 000 000 cycles of 64 callers, each with a key of its own, and ' +
    'for each of 10 000 holds and of 10 000 callers that wait for one key.',
  columns: [
    { key: 'perHold', title: 'bytes per hold', digits: 0 },
    { key: 'perWaiter', title: 'bytes per waiter', digits: 0 },
    { key: 'first', title: 'MB after the first tenth', digits: 2 },
    { key: 'last', title: 'MB at the end', digits: 2 },
    { key: 'perCycle', title: 'bytes per cycle in between', digits: 3 },
    { key: 'cycles', title: 'cycles', digits: 0 },
  ],
  charts: [],
  includes: ({ library, variant }) => library === 'ours' && variant === 'defaults',
  rounds: () => 1,

  async measure({ threads, server, target }, _variant, { isQuick }) {
    await server.clear();
    const [thread] = await threads.take(1, 'ours');
    return thread.call('work', import.meta.url, 'weigh', { target, ...SIZES[isQuick ? 'quick' : 'full'] });
  },
};

/** In a thread, which has a heap of its own. */
export async function weigh({ target, cycles, samples, many, connectionTo, loadLibrary }) {
  const { open, variants } = await loadLibrary('ours');
  const client = await open({ connection: connectionTo(target), ...variants.patient });
  const heap = [];
  await cycle(client, cycles / samples / 10);
  for (let i = 0; i < samples; i++) {
    await cycle(client, cycles / samples);
    heap.push(usedHeap());
  }
  const perHold = await weighHolds(client, many);
  const perWaiter = await weighWaiters(client, many);
  await client.close();
  const [first, last] = [heap[0], heap.at(-1)];
  return {
    ...{ perHold, perWaiter, first: first / 1e6, last: last / 1e6, cycles },
    perCycle: (last - first) / ((cycles / samples) * (samples - 1)),
  };
}

async function cycle(client, count) {
  let left = count;
  const caller = async (_, i) => {
    while (left-- > 0) await client.release(await client.acquire(`mine:${i}`));
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, caller));
}

async function weighHolds(client, many) {
  const handles = new Array(many).fill(undefined);
  const before = usedHeap();
  for (let i = 0; i < many; i++) handles[i] = await client.locks.acquire(`held:${i}`);
  const after = usedHeap();
  for (const handle of handles) await client.release(handle);
  return (after - before) / many;
}

async function weighWaiters(client, many) {
  const patience = { waitTimeout: Infinity };
  const first = await client.acquire('hot');
  const waiting = new Array(many).fill(undefined);
  const before = usedHeap();
  // Not through the adapter, whose promises are not the library's.
  for (let i = 0; i < many; i++) waiting[i] = client.locks.acquire('hot', patience);
  await client.release(await client.acquire('another'));
  const after = usedHeap();
  await client.release(first);
  for (const handle of waiting) await client.release(await handle);
  return (after - before) / many;
}
