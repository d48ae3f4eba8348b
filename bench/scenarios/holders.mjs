import { Redis } from 'ioredis';
import { median } from '../harness/statistics.mjs';

const POWERS = (last) => Array.from({ length: last + 1 }, (_, i) => 10 ** i);
const SIZES = {
  full: { holders: POWERS(4), cycles: 300 },
  quick: { holders: POWERS(2), cycles: 50 },
};
const AT_A_TIME = 100;
/** With `fair: true` each has a hold of its own. */
const KINDS = {
  readers: { kind: 'read', fair: true },
  permits: { permits: 20_000, fair: true },
};

export default {
  name: 'holders',
  title: 'Holders of one key',
  about:
    'The time that Redis spends in one script of a key that so many readers, or permits, hold already: the median of each ' +
    'command. How often as long an acquisition and a release take as those of another key, which one reader or permit ' +
    'holds, in turn on the same server. And the memory of the server for each hold.',
  columns: [
    { key: 'acquire', title: 'acquire: µs in Redis', digits: 0 },
    { key: 'renew', title: 'renew: µs in Redis', digits: 0 },
    { key: 'release', title: 'release: µs in Redis', digits: 0 },
    { key: 'ratio', title: 'acquire and release: times as long as with one holder', digits: 2 },
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
  const acquire = (key) => client.locks.acquire(key, { ...KINDS[kind], expire: '1h' });

  const handles = [];
  while (handles.length < n) {
    const count = Math.min(AT_A_TIME, n - handles.length);
    handles.push(...(await Promise.all(Array.from({ length: count }, () => acquire('hot')))));
  }
  const bytes = (await stored()) / n;
  handles.push(await acquire('quiet'));

  const times = { hot: { acquire: [], renew: [], release: [] }, quiet: { acquire: [], renew: [], release: [] } };
  const timed = async (all, command) => {
    const before = await spent();
    const result = await command();
    all.push((await spent()) - before);
    return result;
  };
  for (let i = 0; i < cycles; i++) {
    for (const [key, { acquire: acquired, renew, release }] of Object.entries(times)) {
      const handle = await timed(acquired, () => acquire(key));
      await timed(renew, () => handle.verify());
      await timed(release, () => handle.release());
    }
  }
  while (handles.length > 0) await Promise.all(handles.splice(0, AT_A_TIME).map((handle) => handle.release()));
  await client.close();
  server.disconnect();
  const [hot, quiet] = Object.values(times).map((of) =>
    Object.fromEntries(Object.entries(of).map(([name, all]) => [name, median(all)])),
  );
  return { ...hot, ratio: (hot.acquire + hot.release) / (quiet.acquire + quiet.release), bytes };
}
