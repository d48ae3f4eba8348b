import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import { expectHandoff, eventually, lockError, SOON } from '../../lab/testbed/locks/locks.js';

/** A replica takes over about a second after its master counts as failed. */
const NODE_TIMEOUT = 1_000;
const bench = new ClusterBench({ replicas: 1, nodeTimeout: NODE_TIMEOUT }, { leavesNothing: true });
const OPTIONS = { renewedLease: '20s', commandTimeout: '2s' } as const;

/** How many channels of a key have listeners at its master. */
async function channelsOf(key: string): Promise<number> {
  const { admin } = await bench.cluster.masterOf(key);
  return ((await admin.call('PUBSUB', 'SHARDCHANNELS', `*{${key}}*`)) as string[]).length;
}

describe('a master that is killed', () => {
  it('holders renew at its replica, which also serves waiters, and other slots are not affected', async () => {
    // An election that fails is repeated after four seconds.
    const [one, other] = await bench.pair({ ...OPTIONS, commandTimeout: '20s' });
    const { lock, waiting } = await bench.contended(one, other, { waitTimeout: '30s' });
    const old = await bench.cluster.masterOf('a');
    const listening = await channelsOf('a');
    await old.replicated();
    const elsewhere = (await bench.cluster.keysOnAllMasters('k', 3)).slice(0, 3);
    const masters = await Promise.all(elsewhere.map((key) => bench.cluster.masterOf(key)));
    await old.kill();
    for (const [i, key] of elsewhere.entries()) {
      if (masters[i] !== old) await (await one.acquire(key)).release();
    }
    await eventually(async () => (await bench.cluster.masterOf('a')) !== old, { within: 15_000 });
    await eventually(
      () =>
        lock.verify().then(
          () => true,
          ({ code }) => code !== 'LOCK_STORE',
        ),
      { within: 10_000 },
    );
    expect(lock.isHeld).toBe(true);
    await eventually(async () => (await channelsOf('a')) === listening, { what: 'the subscriptions at the replica' });
    await expectHandoff(lock, waiting, SOON);
  });
});

describe('replicas of a Cluster', () => {
  it('are confirmed at the master of each key', async () => {
    const service = await bench.service(OPTIONS);
    const keys = await bench.cluster.keysOnAllMasters('w', 3);
    for (const key of keys) {
      const lock = await service.acquire(key, { replicas: { min: 1, timeout: '2s' } });
      expect(await lock.release()).toBe(true);
    }
    const refused = service.acquire(keys[0]!, { replicas: { min: 2, timeout: 100 } });
    await expect(refused).rejects.toEqual(lockError('LOCK_STORE', '1 of at least 2'));
  });

  it('with one replica, no caller gets a lock that a killed master has not replicated, and tokens grow', async () => {
    const [one, other, third] = await bench.serviceList(3, { ...OPTIONS, commandTimeout: '20s' });
    const before = await one.acquire('c', { replicas: { min: 1 } });
    expect(await before.release()).toBe(true);
    const old = await bench.cluster.masterOf('c');
    await old.replicated();
    const replica = await bench.cluster.replicaOf(old);
    // It does not return before its master is gone, and data that is in no buffer does not arrive.
    await replica.pause();
    await old.admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
    const replicas = { min: 1, timeout: 300 };
    await expect(one.acquire('c', { replicas })).rejects.toMatchObject({ code: 'LOCK_STORE' });
    // Without `replicas`, a caller considers its hold valid at once.
    const unsafe = await other.acquire('c');
    await old.kill();
    await replica.resume();
    await eventually(async () => (await bench.cluster.masterOf('c')) === replica, { within: 15_000 });
    const next = await third.acquire('c', { waitTimeout: '30s' });
    expect(unsafe.fencingToken).toBeGreaterThan(before.fencingToken);
    expect(next.fencingToken).toBeGreaterThan(unsafe.fencingToken);
    await eventually(() => unsafe.signal.aborted, { within: 10_000 });
    await next.verify();
    expect(await next.release()).toBe(true);
  });
});

it('a holder that sends nothing learns soon that the replica of a killed master lacks its hold', async () => {
  const [holder, other] = await bench.pair(OPTIONS);
  const bus = `lock:client:bus:${holder.clientId}`;
  const keys = await bench.cluster.keysOnAllMasters('f', 3);
  // Where the holder does not listen either.
  const isDeaf = async (name: string): Promise<boolean> => {
    const { admin } = await bench.cluster.masterOf(name);
    return ((await admin.call('PUBSUB', 'NUMSUB', bus)) as unknown[])[1] === 0;
  };
  const deaf = await Promise.all(keys.map(isDeaf));
  // From now on it is connected to all masters.
  for (const each of keys) await (await holder.acquire(each)).release();
  const key = keys[deaf.indexOf(true)]!;
  const old = await bench.cluster.masterOf(key);
  await old.replicated();
  const replica = await bench.cluster.replicaOf(old);
  await replica.pause();
  await old.admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
  const lock = await holder.acquire(key, { expire: '120s' });
  await old.kill();
  await replica.resume();
  await eventually(async () => (await bench.cluster.masterOf(key)) === replica, { within: 15_000 });
  const next = await other.acquire(key, { waitTimeout: '30s' });
  await eventually(() => lock.signal.aborted, { within: 10_000 });
  expect(lock.isHeld).toBe(false);
  expect(await next.release()).toBe(true);
});

it('a holder that sends nothing looks at its hold when a connection has ended', async () => {
  const [holder] = await bench.serviceList(1, OPTIONS);
  const lock = await holder.acquire('lone', { expire: '120s' });
  const master = await bench.cluster.masterOf('lone');
  await master.admin.flushall();
  await master.cutCommands();
  await eventually(() => lock.signal.aborted, { within: 10_000 });
});

// Last, since a TAKEOVER makes up an epoch of its own, with which the next election may not agree.
describe.each(['FAILOVER', 'TAKEOVER'])('a master that hands over (CLUSTER FAILOVER, %s)', (how) => {
  it('holders keep their locks, and the new master serves waiters', async () => {
    const [one, ...others] = await bench.serviceList(3, OPTIONS);
    const lock = await one.acquire('a');
    const waiting = others.map((service) => service.run('a', async (held) => held.fencingToken));
    await bench.untilWaiting('a', 2);
    const old = await bench.cluster.masterOf('a');
    const replica = await bench.cluster.replicaOf(old);
    // Otherwise the replica may not know the waiters yet.
    await old.replicated();
    await replica.admin.call('CLUSTER', 'FAILOVER', ...(how === 'TAKEOVER' ? [how] : []));
    await eventually(async () => (await bench.cluster.masterOf('a')) === replica);
    await lock.verify();
    const since = performance.now();
    expect(await lock.release()).toBe(true);
    const tokens = await Promise.all(waiting);
    expect(performance.now() - since).toBeLessThan(SOON);
    expect(tokens[0]).toBeGreaterThan(lock.fencingToken);
    expect(tokens[1]).toBeGreaterThan(lock.fencingToken);
  });
});
