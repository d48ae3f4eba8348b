import { afterEach, describe, expect, it } from '@jest/globals';
import { ClusterBench } from '../../testbed/locks/cluster-bench.js';
import { eventually } from '../../testbed/wait/eventually.mjs';
import { FaultLocks, useOf, redisKey, timed } from '../../testbed/locks/fault-locks.js';
import type { RedisServer } from '../../testbed/servers/redis-server.mjs';
import { RunningTime } from '../../testbed/wait/running-time.mjs';

const NODE_TIMEOUT = 2_000;
const bench = new ClusterBench({ replicas: 1, nodeTimeout: NODE_TIMEOUT });
/** The time it may take until clients use a replica that took over. */
const SOON = 4_500;

const locks = new FaultLocks();
afterEach(() => locks.closeAll());

/** Freezes the master of a key for good; resolves when its replica has taken over. */
async function freeze(key: string): Promise<RedisServer> {
  const master = await bench.cluster.masterOf(key);
  const replica = await bench.cluster.replicaOf(master);
  await master.pause();
  await eventually(() => replica.isMaster(), { within: 60_000, every: 20, what: 'a replica that takes over' });
  return master;
}

describe('a master of a Cluster that stays frozen', () => {
  const brought = (): object => bench.cluster.client();

  it.each([
    ['a client of ours', () => ({ cluster: bench.cluster.addresses })],
    ['a Cluster that the application brought', brought],
  ])('%s reaches its replica soon after the takeover, and no call fails', async (_, connection) => {
    const service = await locks.start(connection(), { commandTimeout: '60s' });
    await useOf(service, 'a');
    const master = await bench.cluster.masterOf('a');
    const replica = await bench.cluster.replicaOf(master);
    await master.pause();
    const call = timed(useOf(service, 'a'));
    await eventually(() => replica.isMaster(), { within: 60_000, every: 20, what: 'a replica that takes over' });
    const time = new RunningTime();
    const { error } = await call;
    expect(error).toBeUndefined();
    expect(time.stop().ran).toBeLessThan(SOON);
    // The connection to the frozen one has been left for good.
    expect((await timed(useOf(service, 'a'))).ran).toBeLessThan(SOON);
  });

  it('no client waits until the frozen one answers which node serves which slots', async () => {
    const options = { slotsRefreshTimeout: 60_000 };
    const connection = { cluster: bench.cluster.addresses, options };
    const clients = await Promise.all(
      Array.from({ length: 6 }, () => locks.start(connection, { commandTimeout: '60s' })),
    );
    await Promise.all(clients.map((service) => useOf(service, 'a')));
    const master = await bench.cluster.masterOf('a');
    const replica = await bench.cluster.replicaOf(master);
    await master.pause();
    const calls = Promise.all(clients.map((service) => timed(useOf(service, 'a'))));
    await eventually(() => replica.isMaster(), { within: 60_000, every: 20, what: 'a replica that takes over' });
    const time = new RunningTime();
    expect((await calls).filter(({ error }) => error !== undefined)).toEqual([]);
    expect(time.stop().ran).toBeLessThan(SOON);
  });

  it('clients that start in the meantime get their locks soon after the takeover', async () => {
    const frozen = freeze('a');
    const services = Array.from({ length: 6 }, () => locks.make({ cluster: bench.cluster.addresses }));
    const starts = Promise.all(services.map((service) => timed(service.start())));
    await frozen;
    const time = new RunningTime();
    await starts;
    // A service continues to connect after it has reported that Redis cannot be reached.
    const first = await Promise.all(services.map((service, i) => timed(useOf(service, `first-${i}`))));
    const inSlot = await Promise.all(services.map((service) => timed(useOf(service, 'a'))));
    const calls = [...first, ...inSlot];
    expect(calls.filter(({ error }) => error !== undefined)).toEqual([]);
    const { ran } = time.stop();
    expect(Math.max(...calls.map((call) => call.ran))).toBeLessThan(SOON);
    expect(ran).toBeLessThan(2 * SOON);
  });
});

describe('a master of a Cluster that is frozen', () => {
  it('delays no calls to other masters, however many calls wait for it', async () => {
    const service = await locks.start({ cluster: bench.cluster.addresses });
    const master = await bench.cluster.masterOf('a');
    const isElsewhere = async (key: string): Promise<boolean> => (await bench.cluster.masterOf(key)) !== master;
    const keys = await Promise.all(['b', 'c', 'd', 'e'].map(async (key) => ((await isElsewhere(key)) ? [key] : [])));
    const [other] = keys.flat();
    await Promise.all(['a', other!].map((key) => useOf(service, key)));
    await master.pause();
    const stop = new AbortController();
    const ends = Array.from({ length: 1_500 }, (_, i) => timed(service.acquire(`${i}{a}`, { signal: stop.signal })));
    const { error, ran } = await timed(useOf(service, other!));
    stop.abort();
    await Promise.all(ends);
    expect(error).toBeUndefined();
    expect(ran).toBeLessThan(1_000);
  });
});

describe('a master of a Cluster that crashes', () => {
  it('during a confirmation by replicas: their timeout covers the failover', async () => {
    const service = await locks.start({ cluster: bench.cluster.addresses }, { commandTimeout: '60s' });
    const old = await bench.cluster.masterOf('a');
    const replica = await bench.cluster.replicaOf(old);
    await (await service.acquire('a', { replicas: { min: 1, timeout: '30s' } })).release();
    await replica.pause();
    const taking = timed(service.acquire('a', { expire: '5m', replicas: { min: 1, timeout: '2m' } }));
    await eventually(() => old.admin.exists(redisKey('state', 'a')));
    // The replica has been sent it, and reads it when it resumes.
    await old.kill();
    await replica.resume();
    await eventually(() => replica.isMaster(), { within: 60_000, every: 20, what: 'a replica that takes over' });
    await old.start();
    const { value: lock, error } = await taking;
    expect(error).toBeUndefined();
    await lock!.verify();
    expect(await lock!.release()).toBe(true);
  });
});
