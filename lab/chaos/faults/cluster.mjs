import { agreedFailover, failoversBy, thawedMaster } from './failovers.mjs';

/** Which slot moves, and to which of the other masters. */
const target = ({ random, keys, servers }) => ({ key: random.among(keys), steps: random.between(1, servers - 1) });

/** Faults of the masters of a Cluster, and of its slots. */
export const IN_CLUSTERS = [
  ...failoversBy((_world, pair) => pair.replica.admin.cluster('FAILOVER', 'TAKEOVER')),
  agreedFailover((_world, pair) => pair.replica.admin.cluster('FAILOVER')),
  thawedMaster,
  {
    name: 'slot moved',
    strikes: 'server',
    plan: target,
    async begin({ topology }, { key, steps }) {
      const end = await topology.slots.move(key, steps);
      await end();
    },
  },
  {
    name: 'slot half moved',
    strikes: 'server',
    plan: (scope) => ({ ...target(scope), lasts: scope.random.between(50, 1_000) }),
    begin: ({ topology }, { key, steps }) => topology.slots.move(key, steps),
  },
];
