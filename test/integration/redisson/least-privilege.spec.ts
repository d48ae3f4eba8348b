import { readFileSync } from 'node:fs';
import type { LockService, RedisLockModuleOptions } from 'nestjs-redis-locks';
import { redisson, type RedissonOptions } from 'nestjs-redis-locks/redisson';
import { LockServices } from '../../../lab/testbed/locks/lock-services.js';
import { commandsUsed, refusals } from '../../../lab/testbed/servers/least-privilege.js';
import { startRedisCluster, type RedisCluster } from '../../../lab/testbed/servers/redis-cluster.mjs';
import { startRedis, type RedisServer, eventually, eventuallyPasses } from '../../../lab/testbed/locks/locks.js';

const text = readFileSync(new URL('../../../docs/redisson.md', import.meta.url), 'utf8');
const RULES = /^ACL SETUSER locks ([^]*?)^```/m.exec(text)![1]!.trim().split(/\s+/);
const IN_CLUSTER = /In a Cluster, add\s+`([^`]+)`/.exec(text)![1]!.split(' ');
const COMMANDS = RULES.filter((rule) => rule.startsWith('+')).map((rule) => rule.slice(1));

const LATE = { within: 60_000 };
const services = new LockServices();

const service = (
  connection: RedisLockModuleOptions['connection'],
  options: RedissonOptions = {},
): Promise<LockService> =>
  services.start({ connection: connection!, protocol: redisson(options), commandTimeout: 5_000 });

/** Every kind of lock, each with a waiter of another client. */
async function useAllKinds(one: LockService, other: LockService): Promise<void> {
  for (const options of [{}, { fair: true }, { kind: 'write' }, { kind: 'read' }] as const) {
    const key = `stock:${Object.values(options).join()}`;
    const lock = await one.acquire(key, options);
    const waiting = other.acquire(
      key,
      'kind' in options ? { kind: 'write', waitTimeout: '1m' } : { ...options, waitTimeout: '1m' },
    );
    await other.tryAcquire(key, 'kind' in options ? { kind: 'write' } : {});
    await lock.verify();
    await lock.extend('20s');
    await lock.release();
    expect(await other.forceRelease((await waiting).key)).toBe(true);
  }
  const pool = (locks: LockService) => locks.getSemaphore('stock:pool', { permits: 2 });
  const both = await pool(one).acquire(2);
  const permit = pool(other).acquire(1, { waitTimeout: '1m' });
  await one.inspect('stock:pool');
  await both.release();
  await (await permit).release();
  await one.getCountDownLatch('stock:latch').trySetCount(1);
  const opened = other.getCountDownLatch('stock:latch').await('1m');
  await one.getCountDownLatch('stock:latch').countDown();
  expect(await opened).toBe(true);
  await (await one.acquire(['stock:a', 'stock:b'])).release();
}

describe('on one server, with the rights that docs/redisson.md lists', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await startRedis();
    await redis.admin.acl('SETUSER', 'locks', ...RULES);
  });
  afterAll(async () => {
    await services.closeAll();
    await redis.stop();
  });

  it('nothing is refused, and each of these commands is used', async () => {
    await redis.resetCommandStats();
    await redis.admin.acl('LOG', 'RESET');
    const url = redis.url.replace('//', '//locks:password@');
    const [one, other] = [await service(url), await service(url)];
    const fenced = await (await service(url, { fenced: true })).acquire('stock:fenced');
    await useAllKinds(one, other);
    await fenced.release();
    await fairWaiterLosesItsPlace(one, other);
    await eventuallyPasses(
      // The heartbeat and the end of unused subscriptions come after some seconds.
      async () => expect(await commandsUsed(redis)).toEqual([...COMMANDS].sort()),
      LATE,
    );
    expect(await refusals(redis.admin)).toEqual([]);
  });

  /** As if Redisson had dropped an overdue waiter: it returns to the head of the queue, and a dead one is passed over. */
  async function fairWaiterLosesItsPlace(one: LockService, other: LockService): Promise<void> {
    const [queue, times] = ['redisson_lock_queue:{stock:queue}', 'redisson_lock_timeout:{stock:queue}'];
    const holder = await one.acquire('stock:queue', { fair: true });
    const waiting = other.acquire('stock:queue', { fair: true, waitTimeout: '1m' });
    // Of two waiters of Redisson, one is overdue.
    const script = `redis.call('ZADD', KEYS[2], 1, 'java:1', 9e15, 'java:2') redis.call('RPUSH', KEYS[1], 'java:1', 'java:2')
      redis.call('ZREM', KEYS[2], redis.call('LPOP', KEYS[1]))`;
    await eventually(
      async () => (await other.inspect('stock:queue')) !== null && (await redis.admin.exists(queue)) === 1,
      LATE,
    );
    await redis.admin.eval(script, 2, queue, times);
    await eventually(async () => Number((await redis.commandStats())['linsert'] ?? 0) > 0, LATE);
    await holder.release();
    await (await waiting).release();
  }

  it('a lock of another name is refused with an error of the store', async () => {
    const locks = await service(redis.url.replace('//', '//locks:password@'));
    await expect(locks.tryAcquire('orders')).rejects.toMatchObject({
      code: 'LOCK_STORE',
      message: expect.stringContaining('NOPERM') as unknown,
    });
  });
});

describe('in a Cluster, with the rights that docs/redisson.md lists', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startRedisCluster();
    for (const { admin } of cluster.nodes) await admin.acl('SETUSER', 'locks', ...RULES, ...IN_CLUSTER);
  });
  afterAll(async () => {
    await services.closeAll();
    await cluster.stop();
  });

  it.each(['auto', 'off'] as const)('nothing is refused in mode %s', async (shardedSubscriptionMode) => {
    const asked = async (): Promise<number> => {
      const all = await Promise.all(cluster.nodes.map((node) => node.commandStats()));
      return all.reduce((sum, stats) => sum + (stats['asking'] ?? 0), 0);
    };
    const before = await asked();
    for (const { admin } of cluster.nodes) await admin.acl('LOG', 'RESET');
    const login = { username: 'locks', password: 'password' };
    const connection = { cluster: cluster.addresses, options: { redisOptions: login } };
    const options = { shardedSubscriptionMode };
    const [one, other] = [await service(connection, options), await service(connection, options)];
    await useAllKinds(one, other);
    // While a slot moves, ioredis sends ASKING.
    let meanwhile: Promise<unknown> | undefined;
    await cluster.migrate('stock:moved', async () => {
      meanwhile = one.acquire('stock:moved').then((lock) => lock.release());
      await eventually(async () => (await asked()) > before, LATE);
    });
    await meanwhile;
    for (const { admin } of cluster.nodes) expect(await refusals(admin)).toEqual([]);
  });
});
