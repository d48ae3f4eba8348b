/** What happens between clients and a server. */
export const LINK_FAULTS = {
  'subscriptions-forgotten': {
    title: 'all connections that listen fall silent; the server sees them end, the clients do not',
    inject: async (topology) => topology.deafenSubscribers({ serverNotices: true }),
  },
  'subscriptions-silent': {
    title: 'all connections that listen fall silent, and nobody sees them end',
    inject: async (topology) => topology.deafenSubscribers({ serverNotices: false }),
  },
};
