/** What passes between clients and servers must go through proxies. */
const needs = { proxied: true };

/** Faults between clients and a server. */
export const LINK_FAULTS = {
  'subscriptions-forgotten': {
    title: 'all subscriptions fall silent; the server sees their connections end, the clients do not',
    needs,
    inject: async (topology) => topology.deafenSubscribers({ serverNotices: true }),
  },
  'subscriptions-silent': {
    title: 'all subscriptions fall silent; neither side sees their connections end',
    needs,
    inject: async (topology) => topology.deafenSubscribers({ serverNotices: false }),
  },
};
