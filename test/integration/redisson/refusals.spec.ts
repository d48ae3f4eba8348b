import { Redis } from 'ioredis';
import type { LockService, RedisLockModuleOptions } from 'nestjs-redis-locks';
import { redisson, type RedissonOptions } from 'nestjs-redis-locks/redisson';
import { createLockClient } from 'nestjs-redis-locks/client';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench({ defaults: { protocol: redisson() } });
let locks: LockService;
beforeEach(async () => {
  locks = await bench.service();
});

const refused = (pattern: RegExp) => ({ code: 'LOCK_CONFIG', message: expect.stringMatching(pattern) as unknown });

describe('what the protocol cannot express', () => {
  it.each([
    [{ owner: 'me' }, /takes no owner/],
    [{ fair: true, kind: 'read' }, /exclusive lock without fencing tokens/],
    [{ holdAtLeast: '1s' }, /holdAtLeast/],
    [{ replicas: { min: 1 } }, /replicas/],
    [{ kind: 'read', expire: '1m' }, /at most renewedLease \(30000 ms\), and 60000 ms/],
  ] as const)('%j is refused by name', async (options, pattern) => {
    await expect(locks.acquire('orders', options)).rejects.toMatchObject(refused(pattern));
    await expect(locks.tryAcquire('orders', options)).rejects.toMatchObject(refused(pattern));
    await expect(locks.run('orders', () => undefined, options)).rejects.toMatchObject(refused(pattern));
    expect(await bench.redis.admin.exists('orders')).toBe(0);
  });

  it.each([
    [{ holdAtLeast: '1s' }, /holdAtLeast/],
    [{ replicas: { min: 1 } }, /replicas/],
  ] as const)('%j is refused in the defaults at the start', (defaults, pattern) => {
    expect(() => bench.make({ defaults })).toThrow(expect.objectContaining(refused(pattern)));
  });

  it('is refused of a call that re-enters its lock, too', async () => {
    await locks.run('orders', async () => {
      const options = { holdAtLeast: '1s' } as const;
      await expect(locks.acquire('orders', options)).rejects.toMatchObject(refused(/holdAtLeast/));
      await expect(locks.tryAcquire('orders', options)).rejects.toMatchObject(refused(/holdAtLeast/));
      await expect(locks.run('orders', () => undefined, options)).rejects.toMatchObject(refused(/holdAtLeast/));
    });
  });

  it('getFairLock is refused where locks are RFencedLocks', async () => {
    const fenced = await bench.service({ protocol: redisson({ fenced: true }) });
    expect(() => fenced.getFairLock('orders')).toThrow(expect.objectContaining(refused(/RFairLock/)));
  });

  const pool = () => locks.getSemaphore('pool', { permits: 2 });
  const latch = () => locks.getCountDownLatch('parts');
  const replicas = { min: 1 };
  const inRedisson = /setPermits.*call these methods in Redisson/;
  it.each<[string, () => Promise<unknown>, RegExp]>([
    ['setPermits', () => pool().setPermits(5), inRedisson],
    ['addPermits', () => pool().addPermits(1), inRedisson],
    ['drainPermits', () => pool().drainPermits(), inRedisson],
    [
      'the release of some permits',
      async () => {
        await using both = await pool().acquire(2);
        await both.releaseUnits(1);
      },
      /acquire those with a handle of their own/,
    ],
    ['expire of a latch', () => latch().trySetCount(1, { expire: '1d' }), /no expire/],
    ['the deletion of a latch', () => latch().delete(), /does not delete a latch/],
    ['replicas of trySetCount', () => latch().trySetCount(1, { replicas }), /replicas/],
    ['replicas of countDown', () => latch().countDown({ replicas }), /replicas/],
  ])('%s is refused by name, and changes nothing', async (_name, call, pattern) => {
    for (const count of [null, '1']) {
      if (count !== null) await bench.redis.admin.set('parts', count);
      await expect(call()).rejects.toMatchObject(refused(pattern));
      expect(await bench.redis.admin.get('parts')).toBe(count);
    }
    // A latch of Redisson has no TTL.
    await bench.redis.admin.del('parts');
  });

  it('a read lock is not extended beyond renewedLease, and stays as it was', async () => {
    const lock = await locks.acquire('shelf', { kind: 'read' });
    await expect(lock.extend('1m')).rejects.toMatchObject(refused(/at most renewedLease/));
    expect(lock.isHeld).toBe(true);
    expect(await bench.redis.admin.pttl('shelf')).toBeLessThanOrEqual(30_000);
    await lock.verify();
    expect(await bench.redis.admin.pttl('shelf')).toBeLessThanOrEqual(30_000);
    expect(await lock.release()).toBe(true);
  });

  it('a key of another type is an error of the store', async () => {
    await bench.redis.admin.set('text', 'not a lock');
    await expect(locks.acquire('text', { waitTimeout: 100 })).rejects.toMatchObject({ code: 'LOCK_STORE' });
    await bench.redis.admin.del('text');
  });
});

describe('options', () => {
  const ioredis = (): Redis => new Redis({ lazyConnect: true, keyPrefix: 'shop:' });

  it.each<[string, () => RedisLockModuleOptions, RegExp]>([
    ['a keyPrefix', () => ({ keyPrefix: 'shop', protocol: redisson() }), /keyPrefix has no effect.*nameMapper/],
    [
      'Redlock',
      () => ({ connection: ['redis://a:1', 'redis://b:1', 'redis://c:1'], protocol: redisson() }),
      /list of masters/,
    ],
    [
      'a client with a keyPrefix',
      () => ({ connection: ioredis(), protocol: redisson() }),
      /has the client option keyPrefix.*redisson\({ nameMapper }\)/,
    ],
    [
      'a Cluster with a keyPrefix',
      () => ({ connection: { cluster: ['redis://a:1'], options: { keyPrefix: 'a:' } }, protocol: redisson() }),
      /has the client option keyPrefix.*redisson\({ nameMapper }\)/,
    ],
    [
      'sharded pub/sub without a Cluster',
      () => ({ protocol: redisson({ shardedSubscriptionMode: 'on' }) }),
      /no Redis Cluster/,
    ],
    ['a text', () => ({ protocol: 'redisson' as never }), /protocol is "redisson"; write redisson\(\)/],
  ])('%s beside the protocol is refused', async (_name, options, pattern) => {
    await expect((async () => createLockClient(options()))()).rejects.toMatchObject(refused(pattern));
  });

  it.each<[unknown, RegExp]>([
    [{ nameMapper: 'shop' }, /nameMapper is .*write a function/],
    [{ fenced: 1 }, /fenced is .*write true or false/],
    [{ shardedSubscriptionMode: 'ON' }, /shardedSubscriptionMode is "[^"]+"; write 'auto', 'on' or 'off'/],
    [{ prefix: 'a' }, /prefix/],
  ])('redisson(%j) is refused', (options, pattern) => {
    expect(() => redisson(options as RedissonOptions)).toThrow(expect.objectContaining(refused(pattern)));
  });

  it('a name mapper that returns no text fails the call', async () => {
    const nameless = await bench.service({ protocol: redisson({ nameMapper: () => '' }) });
    await expect(nameless.acquire('orders')).rejects.toThrow(/nameMapper has returned/);
  });
});

it('the health check asks for a key that no application has', async () => {
  await bench.redis.admin.lpush('health', 'x');
  expect(await locks.health()).toMatchObject({ reachable: true });
});
