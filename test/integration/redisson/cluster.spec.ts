import type { LockService } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import type { ShardedSubscriptionMode } from '../../../lib/redisson/redisson-scripts.js';
import { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import { aborted, endAtOnce, eventually, timed } from '../../../lab/testbed/locks/locks.js';
import { startWorker } from '../../../lab/testbed/workers/processes.mjs';

/** Without a message a waiter tries again after 3 s. */
const SOON = 2_500;
const CHANNEL = 'redisson_lock__channel:{orders}';

const FAIR = { fair: true, waitTimeout: '1m' } as const;
const WORKER = new URL('../../../lab/testbed/workers/lock-worker.mjs', import.meta.url);

const bench = new ClusterBench();
const service = (shardedSubscriptionMode: ShardedSubscriptionMode = 'auto'): Promise<LockService> =>
  bench.service({ protocol: redisson({ shardedSubscriptionMode }), commandTimeout: '15s' });

/** The subscribers of a channel at the master of the lock. */
async function subscribersOf(channel: string, isSharded: boolean): Promise<number> {
  const { admin } = await bench.cluster.masterOf('orders');
  return Number(((await admin.call('PUBSUB', isSharded ? 'SHARDNUMSUB' : 'NUMSUB', channel)) as unknown[])[1]);
}

describe.each([
  ['auto', true],
  ['off', false],
] as const)('in a Cluster with shardedSubscriptionMode %s', (mode, isSharded) => {
  const subscribed = (): Promise<unknown> =>
    eventually(async () => (await subscribersOf(CHANNEL, isSharded)) === 1, { within: 15_000 });

  it('a release wakes a waiter of another client, on this kind of channel only', async () => {
    const [one, other] = [await service(mode), await service(mode)];
    const lock = await one.acquire('orders');
    const waiting = other.acquire('orders', { waitTimeout: '1m' });
    await subscribed();
    expect(await subscribersOf(CHANNEL, !isSharded)).toBe(0);
    await (await endAtOnce(waiting, () => lock.release(), SOON)).release();
  });

  it('a killed fair waiter is removed within 5 s, or passed over within 10 s on plain channels', async () => {
    const locks = await service(mode);
    const worker = await startWorker(WORKER);
    try {
      await worker.call('start', {
        ...{ connection: { cluster: bench.cluster.addresses }, protocol: 'redisson' },
        ...{ redisson: { shardedSubscriptionMode: mode }, commandTimeout: '15s' },
      });
      const { admin } = await bench.cluster.masterOf('orders');
      const queue = 'redisson_lock_queue:{orders}';
      const untilQueued = (count: number): Promise<unknown> =>
        eventually(async () => (await admin.llen(queue)) === count, { within: 15_000 });
      const lock = await locks.acquire('orders', FAIR);
      worker.call('forget', 'orders', FAIR).catch(() => undefined);
      await untilQueued(1);
      const next = locks.acquire('orders', FAIR);
      await untilQueued(2);
      await worker.kill();
      await lock.release();
      const { ran, value } = await timed(next);
      expect(ran).toBeLessThan(isSharded ? 8_000 : 15_000);
      await value!.release();
    } finally {
      await worker.kill();
    }
  });

  it('waiters follow a slot to its new master', async () => {
    const [one, other] = [await service(mode), await service(mode)];
    const lock = await one.acquire('orders');
    const waiting = other.acquire('orders', { waitTimeout: '1m' });
    await subscribed();
    await bench.cluster.migrate('orders');
    // A plain subscription stays where it is until the client learns of the move: any node receives its messages.
    if (isSharded) await subscribed();
    await (await endAtOnce(waiting, () => lock.release(), SOON)).release();
  });
});

describe('in a Cluster', () => {
  it.each([
    ['auto', 'off', /wait on the plain channel '.*', and this client publishes on sharded channels/],
    ['off', 'on', /wait on the sharded channel '.*', and this client publishes on plain channels/],
  ] as const)('a release with %s that a waiter with %s does not hear is logged once', async (mode, other, text) => {
    const [one, deaf] = [await service(mode), await service(other)];
    const sections = ['orders', '{orders}:2'].map(async (key) => {
      const lock = await one.acquire(key);
      const waiting = deaf.acquire(key, { waitTimeout: '1m' });
      const channel = key === 'orders' ? CHANNEL : `redisson_lock__channel:${key}`;
      await eventually(async () => (await subscribersOf(channel, other === 'on')) === 1, { within: 15_000 });
      await lock.release();
      await (await waiting).release();
    });
    await Promise.all(sections);
    const warnings = bench.lines.filter((line) => line.includes('shardedSubscriptionMode'));
    // The waiter releases the lock while no client listens to the other kind.
    expect(warnings).toEqual([expect.stringMatching(text)]);
  });

  it('locks of all slots are renewed, also those whose names come from a nameMapper', async () => {
    const protocol = redisson({ nameMapper: (key) => `shop:${key}` });
    const locks = await bench.service({ protocol, renewedLease: '3s' });
    const keys = Array.from({ length: 12 }, (_, i) => `orders-${i}`);
    const held = await Promise.all(keys.map((key) => locks.acquire(key)));
    const ends = performance.now() + 4_000;
    await eventually(() => performance.now() > ends, { within: 15_000 });
    await Promise.all(held.map((lock) => lock.verify()));
    expect(await Promise.all(held.map((lock) => lock.release()))).toEqual(keys.map(() => true));
  });

  it('a forced release reaches the holder through any node', async () => {
    const [one, other] = [await service(), await service()];
    const held = [];
    for (const key of await bench.cluster.keysOnAllMasters('held', 3)) held.push(await one.acquire(key));
    const told = held.map(({ signal }) => aborted(signal));
    for (const { key } of held) expect(await other.forceRelease(key)).toBe(true);
    await Promise.all(told);
  });

  it.each(['a{b', '{}x'])('the name %s is refused, because Redisson cannot release such a lock', async (name) => {
    const locks = await service();
    const refused = { code: 'LOCK_CONFIG', message: expect.stringMatching(/in another hash slot/) as unknown };
    await expect(locks.acquire(name)).rejects.toMatchObject(refused);
    await expect(locks.getCountDownLatch(name).trySetCount(1)).rejects.toMatchObject(refused);
  });

  it('a name with a hash tag works for locks, and is refused for latches', async () => {
    const locks = await service();
    await (await locks.acquire('a{b}c')).release();
    await expect(locks.getCountDownLatch('a{b}c').trySetCount(1)).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
  });
});
