import { median } from '../harness/statistics.mjs';

const BATCHES = 30;

export default {
  name: 're-entry',
  title: 'Re-entry',
  about:
    'A lock that its holder acquires again: within `run`, `acquire` and `release` and another `run`; the raw ' +
    'scripts by their owner, over Redis. None of the others re-enters.',
  columns: [
    { key: 'acquire', title: 'acquire and release µs', digits: 2 },
    { key: 'run', title: 'run µs', digits: 2 },
    { key: 'commands', title: 'commands for both', digits: 2 },
  ],
  charts: [],
  includes: ({ library, variant }) => variant === 'defaults' && (library === 'ours' || library === 'raw'),

  async measure({ threads, server, target }, { library }, { isQuick }) {
    await server.clear();
    const [thread] = await threads.take(1, library);
    return thread.call('work', import.meta.url, 'reenter', { target, library, calls: isQuick ? 100 : 1_000 });
  },
};

/** In a thread. */
export async function reenter({ target, library, calls, connectionTo, loadLibrary, sent }) {
  const { open } = await loadLibrary(library);
  const client = await open({ connection: connectionTo(target) });
  const again = async (owner) => client.release(await client.acquire('re-entered', owner));
  let result;
  if (library === 'ours') {
    const { locks } = client;
    result = await locks.run('re-entered', () => {
      const run = () => locks.run('re-entered', nothing);
      return compare({ acquire: () => again(), run }, calls, sent);
    });
  } else {
    const handle = await client.acquire('re-entered', 'me');
    result = await compare({ acquire: () => again('me') }, calls, sent);
    await client.release(handle);
  }
  await client.close();
  return result;
}

async function compare(works, calls, sent) {
  const times = Object.fromEntries(Object.keys(works).map((name) => [name, []]));
  let count = 0;
  const before = sent();
  for (let batch = 0; batch < BATCHES; batch++) {
    for (const [name, work] of Object.entries(works)) {
      const began = performance.now();
      for (let i = 0; i < calls; i++) await work();
      times[name].push(((performance.now() - began) * 1_000) / calls);
    }
    count += calls;
  }
  const medians = Object.entries(times).map(([name, all]) => [name, median(all)]);
  return { ...Object.fromEntries(medians), commands: (sent() - before) / count };
}

async function nothing() {}
