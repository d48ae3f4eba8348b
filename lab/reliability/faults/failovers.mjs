import { eventually } from '../../testbed/wait/eventually.mjs';

/** Resolves when a server is master by its own account. */
export const untilMaster = (server) => eventually(() => server.isMaster(), { within: 60_000, what: 'a new master' });

/** `FAILOVER`, as Redis itself knows it: the master waits for its replica, and they change places. */
async function plainFailover(topology) {
  const [master, replica] = [await topology.serving(), await topology.other()];
  await master.admin.call('FAILOVER', 'TO', replica.host, replica.port, 'TIMEOUT', 10_000);
  await untilMaster(replica);
  return replica;
}

/** Where a replica takes over. After each of them a topology is started anew: it remembers the last one. */
export const FAILOVERS = {
  'master-killed': {
    title: 'master killed; its replica takes over',
    isLasting: true,
    async inject(topology) {
      const [master, replica] = [await topology.serving(), await topology.other()];
      await master.kill();
      await untilMaster(replica);
    },
  },
  'sentinel-failover': {
    title: '`SENTINEL FAILOVER`',
    isLasting: true,
    async inject(topology) {
      const replica = await topology.other();
      await topology.failover();
      await untilMaster(replica);
    },
  },
  failover: {
    title: '`FAILOVER`; the address then leads to the new master',
    isLasting: true,
    async inject(topology) {
      topology.moveAddress(await plainFailover(topology));
    },
  },
  'failover-unasked': {
    title: '`FAILOVER`, not through the Sentinels',
    isLasting: true,
    inject: async (topology) => void (await plainFailover(topology)),
  },
  'cluster-failover': {
    title: '`CLUSTER FAILOVER`',
    isLasting: true,
    async inject(topology) {
      const replica = await topology.other();
      await replica.admin.call('CLUSTER', 'FAILOVER');
      await untilMaster(replica);
    },
  },
  'slot-moved': {
    title: 'slot moved to another master',
    inject: (topology) => topology.moveSlot(),
  },
};
