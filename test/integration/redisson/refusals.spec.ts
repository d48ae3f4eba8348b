import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { LockService, RedisLockModuleOptions } from 'nestjs-redis-locks';
import { redisson, type RedissonOptions } from 'nestjs-redis-locks/redisson';
import { createLockClient } from 'nestjs-redis-locks/client';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';

let redis: RedisServer;
let locks: LockService;

beforeAll(async () => {
  redis = await startRedis();
  locks = await createLockClient({ connection: redis.url, protocol: redisson() });
});
afterAll(async () => {
  await locks.close();
  await redis.stop();
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
    expect(await redis.admin.exists('orders')).toBe(0);
  });

  it('getFairLock is refused where locks are RFencedLocks', async () => {
    await using own = closing(await createLockClient({ connection: redis.url, protocol: redisson({ fenced: true }) }));
    expect(() => own.locks.getFairLock('orders')).toThrow(expect.objectContaining(refused(/RFairLock/)));
  });

  it('a read lock is not extended beyond renewedLease, and stays as it was', async () => {
    const lock = await locks.acquire('shelf', { kind: 'read' });
    await expect(lock.extend('1m')).rejects.toMatchObject(refused(/at most renewedLease/));
    expect(lock.isHeld).toBe(true);
    expect(await redis.admin.pttl('shelf')).toBeLessThanOrEqual(30_000);
    await lock.verify();
    expect(await redis.admin.pttl('shelf')).toBeLessThanOrEqual(30_000);
    expect(await lock.release()).toBe(true);
  });

  it('a key of another type is an error of the store', async () => {
    await redis.admin.set('text', 'not a lock');
    await expect(locks.acquire('text', { waitTimeout: 100 })).rejects.toMatchObject({ code: 'LOCK_STORE' });
    await redis.admin.del('text');
  });
});

describe('options', () => {
  const start = (options: RedisLockModuleOptions): Promise<LockService> => createLockClient(options);
  const ioredis = (): Redis => new Redis({ lazyConnect: true, keyPrefix: 'shop:' });

  it.each<[string, () => RedisLockModuleOptions, RegExp]>([
    ['a keyPrefix', () => ({ keyPrefix: 'shop', protocol: redisson() }), /keyPrefix has no effect.*nameMapper/],
    [
      'Redlock',
      () => ({ connection: ['redis://a:1', 'redis://b:1', 'redis://c:1'], protocol: redisson() }),
      /list of masters/,
    ],
    ['a client with a keyPrefix', () => ({ connection: ioredis(), protocol: redisson() }), /has a keyPrefix/],
    [
      'a Cluster with a keyPrefix',
      () => ({ connection: { cluster: ['redis://a:1'], options: { keyPrefix: 'a:' } }, protocol: redisson() }),
      /has a keyPrefix/,
    ],
    [
      'sharded pub/sub without a Cluster',
      () => ({ protocol: redisson({ shardedSubscriptionMode: 'on' }) }),
      /no Redis Cluster/,
    ],
    ['a text', () => ({ protocol: 'redisson' as never }), /protocol is "redisson"; write redisson\(\)/],
  ])('%s beside the protocol is refused', async (_name, options, pattern) => {
    await expect((async () => start(options()))()).rejects.toMatchObject(refused(pattern));
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
    await using own = closing(await start({ connection: redis.url, protocol: redisson({ nameMapper: () => '' }) }));
    await expect(own.locks.acquire('orders')).rejects.toThrow(/nameMapper has returned/);
  });
});

const closing = (service: LockService): AsyncDisposable & { locks: LockService } => ({
  locks: service,
  [Symbol.asyncDispose]: () => service.close(),
});

it('the health check asks for a key that no application has', async () => {
  await redis.admin.lpush('health', 'x');
  expect(await locks.health()).toMatchObject({ reachable: true });
});
