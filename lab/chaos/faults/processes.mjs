/** Which client, and for how long. */
export const ofClient =
  (least, most) =>
  ({ random, clients }) => ({ client: random.among(clients), lasts: random.between(least, most) });

/** Calls a method of a client's process. It may be stopped, or be killed meanwhile. */
export function callOf({ clients }, client, ...call) {
  clients
    .get(client)
    .call(...call)
    .catch(() => undefined);
}

/** Elsewhere clocks count the time for which a machine is suspended. */
const SUSPENDED = [
  {
    name: 'client suspended',
    plan: ofClient(50, 1_500),
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
    plan: ofClient(50, 1_500),
    begin: stopClient,
  },
  {
    name: 'client blocked',
    plan: ofClient(50, 1_200),
    begin: (world, { client, lasts }) => callOf(world, client, 'block', lasts),
  },
  {
    name: 'client killed',
    plan: ofClient(0, 400),
    async begin({ clients }, { client }) {
      await clients.get(client).kill();
      return () => clients.get(client).start();
    },
  },
];
