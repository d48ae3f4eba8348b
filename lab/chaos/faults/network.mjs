/** Which of a client's connections are struck: the ones for commands, the ones that listen, or all. */
const LINES = {
  commands: ({ isSubscriber }) => !isSubscriber,
  subscribers: ({ isSubscriber }) => isSubscriber,
  all: () => true,
};

/** Between one client and one place where servers are, or all of them. */
const among = ({ random, clients, networks }) => ({
  client: random.among(clients),
  network: networks > 1 && random.chance(0.5) ? random.between(0, networks - 1) : undefined,
  lines: random.among(Object.keys(LINES)),
});

const restore = (proxies) => Promise.all(proxies.map((proxy) => proxy.restore()));

function kind(name, strike, lasts) {
  return {
    name,
    plan: (scope) => ({
      ...among(scope),
      ...(lasts && { lasts: scope.random.between(...lasts) }),
      ...more(scope, name),
    }),
    begin({ topology }, fault) {
      const network = topology.networkOf(fault.client);
      const proxies = (fault.network === undefined ? network : [network[fault.network]]).flat();
      for (const proxy of proxies) strike(proxy, LINES[fault.lines], fault);
      return lasts && (() => restore(proxies));
    },
  };
}

function more({ random }, name) {
  if (name === 'network slow') return { ms: random.between(10, 120) };
  // Commands are answered, or it would be another fault.
  if (name === 'subscribers deaf') return { lines: 'subscribers', serverNotices: random.chance(0.5) };
  return name === 'subscribers mute' ? { lines: 'subscribers' } : {};
}

/** Faults between a client and servers. */
export const NETWORK = [
  kind('network cut', (proxy, where) => proxy.cutAll(where)),
  kind('network half-closed', (proxy, where) => proxy.endReplies(where)),
  kind('network gone', (proxy) => proxy.disconnect(), [50, 1_200]),
  kind('network slow', (proxy, _where, { ms }) => proxy.delay({ request: ms, reply: ms }), [100, 1_000]),
  {
    // All that lies between it and others, as of one in another data centre.
    name: 'client far away',
    plan: ({ random, clients }) => ({
      client: random.among(clients),
      ms: random.between(30, 100),
      lasts: random.between(1_000, 3_000),
    }),
    begin({ topology }, { client, ms }) {
      const proxies = topology.networkOf(client).flat();
      for (const proxy of proxies) proxy.delay({ request: ms, reply: ms });
      return () => restore(proxies);
    },
  },
  kind('replies late', (proxy, where) => proxy.holdReplies(where), [50, 1_000]),
  kind('replies lost', (proxy, where) => proxy.dropReplies(where), [50, 1_000]),
  kind('subscribers deaf', (proxy, where, { serverNotices }) => proxy.goDeaf(where, { serverNotices })),
  kind('subscribers mute', (proxy, where) => proxy.goMute(where)),
  kind('requests lost', (proxy, where) => proxy.dropRequests(where), [50, 1_000]),
];
