/** Elsewhere clocks count the time for which a machine is suspended. */
const SUSPENDED = [
  {
    name: 'client suspended',
    plan: ({ random, clients }) => ({ client: random.among(clients), lasts: random.between(50, 1_500) }),
    async begin({ clients }, { client }) {
      await clients.get(client).suspend();
      return () => clients.get(client).resume();
    },
  },
];

/** Faults of client processes. */
export const PROCESSES = [
  ...(process.platform === 'linux' ? SUSPENDED : []),
  {
    name: 'client stopped',
    plan: ({ random, clients }) => ({ client: random.among(clients), lasts: random.between(50, 1_500) }),
    begin({ clients }, { client }) {
      clients.get(client).stop();
      return () => clients.get(client).goOn();
    },
  },
  {
    name: 'client blocked',
    plan: ({ random, clients }) => ({ client: random.among(clients), lasts: random.between(50, 1_200) }),
    begin: ({ clients }, { client, lasts }) => void clients.get(client).block(lasts),
  },
  {
    name: 'client killed',
    plan: ({ random, clients }) => ({ client: random.among(clients), lasts: random.between(0, 400) }),
    async begin({ clients }, { client }) {
      await clients.get(client).kill();
      return () => clients.get(client).replace();
    },
  },
];
