/** Elsewhere clocks count the time for which a machine is suspended. */
const SUSPENDED = [
  {
    name: 'client suspended',
    plan: ({ random, clients }) => ({ client: random.among(clients), lasts: random.between(50, 1_500) }),
    async begin({ clients }, { client }) {
      await clients.get(client).process.suspend();
      return () => clients.get(client).process.wake();
    },
  },
];

export function stopClient({ clients }, { client }) {
  clients.get(client).process.pause();
  return () => clients.get(client).process.resume();
}

/** Faults of client processes. */
export const PROCESSES = [
  ...(process.platform === 'linux' ? SUSPENDED : []),
  {
    name: 'client stopped',
    plan: ({ random, clients }) => ({ client: random.among(clients), lasts: random.between(50, 1_500) }),
    begin: stopClient,
  },
  {
    name: 'client blocked',
    plan: ({ random, clients }) => ({ client: random.among(clients), lasts: random.between(50, 1_200) }),
    // It may be killed meanwhile.
    begin: ({ clients }, { client, lasts }) =>
      void clients
        .get(client)
        .call('block', lasts)
        .catch(() => undefined),
  },
  {
    name: 'client killed',
    plan: ({ random, clients }) => ({ client: random.among(clients), lasts: random.between(0, 400) }),
    async begin({ clients }, { client }) {
      await clients.get(client).kill();
      return () => clients.get(client).start();
    },
  },
];
