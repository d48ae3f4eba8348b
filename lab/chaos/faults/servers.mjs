/** Which server, and for how long. */
export const planned =
  (least, most) =>
  ({ random, servers }) => ({ server: random.between(0, servers - 1), lasts: random.between(least, most) });
export const atOnce = ({ random, servers }) => ({ server: random.between(0, servers - 1) });

const restart =
  (options) =>
  async (world, { server }) => {
    await world.servers[server].kill();
    return () => world.servers[server].start(options);
  };

const kill =
  (type) =>
  async (world, { server }) =>
    void (await world.servers[server].admin.call('CLIENT', 'KILL', 'TYPE', type));

/** Faults of servers, and the commands of an operator to them. */
export const SERVERS = [
  {
    name: 'server stopped',
    plan: planned(50, 1_200),
    async begin(world, { server }) {
      await world.servers[server].pause();
      return () => world.servers[server].resume();
    },
  },
  { name: 'server restarted', plan: planned(0, 500), begin: restart() },
  {
    name: 'server restarted empty',
    breaks: 'restart without persistence',
    // Quickly, so that earlier holds are still valid for their holders.
    plan: planned(0, 80),
    begin: restart({ empty: true }),
  },
  {
    name: 'clients paused',
    plan: planned(50, 900),
    // The server resumes by itself.
    begin: (world, { server, lasts }) => void world.servers[server].admin.client('PAUSE', lasts, 'ALL'),
  },
  { name: 'commands cut', plan: atOnce, begin: kill('normal') },
  { name: 'subscribers cut', plan: atOnce, begin: kill('pubsub') },
  {
    name: 'scripts flushed',
    plan: atOnce,
    begin: async (world, { server }) => void (await world.servers[server].admin.script('FLUSH', 'SYNC')),
  },
];
