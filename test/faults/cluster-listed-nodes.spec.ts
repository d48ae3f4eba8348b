import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import { RunningTime } from '../../lab/testbed/wait/running-time.mjs';
import { timed, useOf, eventually, eventuallyPasses, type RedisServer } from '../../lab/testbed/locks/locks.js';

const NODE_TIMEOUT = 2_000;
const bench = new ClusterBench({ replicas: 1, nodeTimeout: NODE_TIMEOUT });
/** ms that a call may take without any node; and on a busy machine. */
const [COMMAND_TIMEOUT, LATE] = [5_000, 1_500];
/** The time it may take until clients use a replica that took over. */
const SOON = 4_500;

describe('a Cluster whose listed nodes are gone', () => {
  it('calls fail in time during a total outage, and a client reconnects after it through the last known nodes', async () => {
    const key = 'after an outage';
    const { nodes } = bench.cluster;
    const listed = await bench.cluster.masterOf(key);
    const service = await bench.service({ connection: { cluster: [{ host: listed.host, port: listed.port }] } });
    await useOf(service, key);
    await Promise.all(nodes.map((node) => node.kill()));
    const { error, ran } = await timed(useOf(service, key));
    expect(error?.code).toBe('LOCK_STORE');
    expect(ran).toBeLessThan(2 * COMMAND_TIMEOUT + LATE);
    await Promise.all(nodes.filter((node) => node !== listed).map((node) => node.start()));
    await eventually(async () => (await bench.cluster.masterOf(key)) !== listed, { within: 30_000, every: 50 });
    const time = new RunningTime();
    await eventuallyPasses(() => useOf(service, key), { within: 20_000 });
    expect(time.stop().ran).toBeLessThan(SOON);
  });

  it('if all masters have handed over and are gone, a client finds the new ones through the last known nodes', async () => {
    const key = 'after handovers';
    const { nodes } = bench.cluster;
    const areMasters = await Promise.all(nodes.map((node) => node.isMaster()));
    const masters = nodes.filter((_, i) => areMasters[i]);
    const replicas = await Promise.all(masters.map((master) => bench.cluster.replicaOf(master)));
    // A replica that has just come back is not listed for some seconds, and a client cannot know it.
    const listsReplica = async ({ admin }: RedisServer): Promise<boolean> =>
      ((await admin.call('CLUSTER', 'SLOTS')) as unknown[][]).every(([, , ...serving]) => serving.length > 1);
    await eventually(async () => (await Promise.all(masters.map(listsReplica))).every(Boolean), { within: 60_000 });
    const cluster = masters.map(({ host, port }) => ({ host, port }));
    const service = await bench.service({ connection: { cluster } });
    await useOf(service, key);
    await Promise.all(replicas.map((replica) => replica.admin.call('CLUSTER', 'FAILOVER', 'TAKEOVER')));
    await Promise.all(masters.map((master) => master.kill()));
    await eventuallyPasses(() => useOf(service, key), { within: 20_000 });
  });

  it('even if a host name is no longer known', async () => {
    const cluster = [{ host: 'gone.invalid', port: 6_379 }, bench.cluster.addresses[0]!];
    const service = await bench.service({ connection: { cluster } });
    await useOf(service, 'a');
  });
});
