import { Redis } from 'ioredis';

const POWERS = (last) => Array.from({ length: last + 1 }, (_, i) => 10 ** i);
const SIZES = {
  full: { holders: POWERS(4), cycles: 300 },
  quick: { holders: POWERS(2), cycles: 50 },
};
const AT_A_TIME = 100;
const KINDS = {
  readers: { key: 'hot', type: 'read' },
  permits: { key: 'hot', permits: 20_000 },
};

export default {
  name: 'holders',
  title: 'Holders of one key',
  about:
    'The time that Redis spends in one script of a key that so many readers, or permits, hold already: the median of each ' +
    'command. And the memory of the server for each hold.',
  columns: [
    { key: 'acquire', title: 'acquire: µs in Redis', digits: 0 },
    { key: 'renew', title: 'renew: µs in Redis', digits: 0 },
    { key: 'release', title: 'release: µs in Redis', digits: 0 },
    { key: 'bytes', title: 'bytes in Redis per hold', digits: 0 },
  ],
  charts: ['growth'],
  curves: [
    ...Object.keys(KINDS).map((name) => ({
      title: `Holds of one key (${name}): µs in Redis for a script`,
      of: ({ kind }) => kind === name,
      lines: ['acquire', 'renew', 'release'].map((key) => ({ key, name: key })),
    })),
    {
      title: 'Holds of one key (readers): bytes in Redis for each',
      of: ({ kind }) => kind === 'readers',
      lines: [{ key: 'bytes' }],
    },
  ],
  includes: ({ library, variant }) => library === 'ours' && variant === 'defaults',
  rounds: ({ rounds }) => Math.min(rounds, 3),

  expand(variants, { isQuick }) {
    const { holders, cycles } = SIZES[isQuick ? 'quick' : 'full'];
    return variants.flatMap((variant) =>
      Object.keys(KINDS).flatMap((kind) =>
        holders.map((n) => ({ ...variant, label: `${n} ${kind}`, kind, n, cycles })),
      ),
    );
  },

  async measure({ threads, server, target }, { kind, n, cycles }) {
    await server.clear();
    const [thread] = await threads.take(1, 'ours');
    return thread.call('work', import.meta.url, 'cycleBesideHolders', { target, kind, n, cycles });
  },
};

/** In a thread. */
export async function cycleBesideHolders({ target, kind, n, cycles, connectionTo, loadLibrary }) {
  const { open } = await loadLibrary('ours');
  const client = await open({ connection: connectionTo(target) });
  const server = new Redis({ host: target.host, port: target.port });
  const spent = async () =>
    Number(/cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(await server.info('commandstats'))?.[1] ?? 0);
  const stored = async () => {
    const sizes = (await server.keys('*')).map((name) => server.memory('USAGE', name, 'SAMPLES', 0));
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  };
  // A lease of its own keeps renewals out of the figures.
  const { key, ...mode } = KINDS[kind];
  const acquire = () => client.locks.acquire(key, { ...mode, expire: '1h' });

  const handles = [];
  while (handles.length < n) {
    handles.push(...(await Promise.all(Array.from({ length: Math.min(AT_A_TIME, n - handles.length) }, acquire))));
  }
  const bytes = (await stored()) / n;

  const times = { acquire: [], renew: [], release: [] };
  const timed = async (name, command) => {
    const before = await spent();
    const result = await command();
    times[name].push((await spent()) - before);
    return result;
  };
  for (let i = 0; i < cycles; i++) {
    const handle = await timed('acquire', acquire);
    await timed('renew', () => handle.verify());
    await timed('release', () => handle.release());
  }
  while (handles.length > 0) await Promise.all(handles.splice(0, AT_A_TIME).map((handle) => handle.release()));
  await client.close();
  server.disconnect();
  const medians = Object.entries(times).map(([name, all]) => [name, all.sort((a, b) => a - b)[all.length >> 1]]);
  return { ...Object.fromEntries(medians), bytes };
}
