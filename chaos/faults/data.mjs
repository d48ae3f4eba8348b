const target = ({ random, keys, servers }) => ({ server: random.between(0, servers - 1), key: random.among(keys) });

const remove = (...roles) =>
  async function begin({ topology, servers }, { server, key }) {
    const { admin } = topology.serverOf?.(key) ?? servers[server];
    await admin.del(...roles.map((role) => `lock:${role}:{${key}}`));
  };

/** Ends with an answer, or with the connection; then it was before that, or never will be. */
async function forceRelease({ operator }, key) {
  await operator.call('forceRelease', key).catch((error) => {
    if (error.code !== 'LOCK_STORE') throw error;
  });
}

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
    begin: (world, { key }) => forceRelease(world, key),
  },
  // Neither of these is presumed: waiters ask again, and tokens follow the clock.
  { name: 'queue deleted', plan: target, begin: remove('queue', 'waiters') },
  { name: 'fence deleted', plan: target, begin: remove('fence') },
];
