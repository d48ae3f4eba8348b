import { DATA } from './data.mjs';
import { stopClient } from './processes.mjs';

/** What only a process of Node can do. */
const OF_NODE = ['client suspended', 'client blocked'];
/** Those of the data that are the same in the layout of Redisson. */
const IN_BOTH_LAYOUTS = ['all deleted', 'forced release'];
const OTHERS = DATA.map(({ name }) => name).filter((name) => !IN_BOTH_LAYOUTS.includes(name));

/** The faults of a topology when clients of both libraries use it. `nodes`: the clients of this one. */
export const besideRedisson = (faults, nodes) => [
  ...faults
    .filter(({ name }) => !OTHERS.includes(name))
    .map((kind) =>
      OF_NODE.includes(kind.name) ? { ...kind, plan: (scope) => kind.plan({ ...scope, clients: nodes }) } : kind,
    ),
  {
    name: 'client stopped beyond its lease',
    strikes: 'client',
    plan: ({ random, clients, longestLease }) => ({
      client: random.among(clients),
      lasts: Math.round(longestLease * (1.2 + 1.5 * random.next())),
    }),
    begin: stopClient,
  },
  {
    name: 'lock deleted',
    strikes: 'data',
    breaks: 'data deleted',
    plan: ({ random, keys }) => ({ server: 0, key: random.among(keys) }),
    begin: async ({ servers }, { server, key }) => void (await servers[server].admin.del(key)),
  },
];
