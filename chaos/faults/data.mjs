const target = ({ random, keys, servers }) => ({ server: random.between(0, servers - 1), key: random.among(keys) });

const remove = (...roles) =>
  async function begin(world, { server, key }) {
    await world.servers[server].admin.del(...roles.map((role) => `lock:${role}:{${key}}`));
  };

/** What happens to what the library keeps in Redis. */
export const DATA = [
  { name: 'state deleted', breaks: 'data deleted', plan: target, begin: remove('state') },
  {
    name: 'all deleted',
    breaks: 'data deleted',
    plan: ({ random, servers }) => ({ server: random.between(0, servers - 1) }),
    begin: async (world, { server }) => void (await world.servers[server].admin.flushall()),
  },
  {
    name: 'forced release',
    breaks: 'force release',
    plan: ({ random, keys }) => ({ key: random.among(keys) }),
    begin: async (world, { key }) => void (await world.operator.call('forceRelease', key)),
  },
  // Neither of these is presumed: waiters ask again, and tokens follow the clock.
  { name: 'queue deleted', plan: target, begin: remove('queue', 'waiters') },
  { name: 'fence deleted', plan: target, begin: remove('fence') },
];
