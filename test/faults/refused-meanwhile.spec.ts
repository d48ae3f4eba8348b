import { expect, it } from '@jest/globals';
import { eventually, eventuallyPasses } from '../../lab/testbed/wait/eventually.mjs';
import {
  abortOf,
  FaultLocks,
  leaseEnd,
  nothingLeftBehind,
  redisKey,
  timed,
} from '../../lab/testbed/locks/fault-locks.js';
import { useRedisForEach } from '../../lab/testbed/locks/fault-setups.js';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';

const LEASE = 1_500;
/** By how much a timer may be late in this process: the signal comes by one, `isHeld` does not need it. */
const LATE_TIMER = 1_000;
const LATE = 1_500;

const locks = new FaultLocks();
let redis: RedisServer;
useRedisForEach(locks, (started) => (redis = started));

const untilWaiting = (key: string): Promise<unknown> =>
  eventually(async () => (await redis.admin.zcard(redisKey('queue', key))) === 1, { what: 'a waiter' });

/** Ends all connections but the test's own. */
const disconnectAll = (): Promise<unknown> =>
  Promise.all(['normal', 'pubsub'].map((type) => redis.admin.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes')));

it('NOAUTH: after a password is set, holders are notified in time, and all works when it is removed', async () => {
  const options = { renewedLease: LEASE, commandTimeout: 500 };
  const [one, other] = [await locks.start(redis.url, options), await locks.start(redis.url, options)];
  const lock = await one.acquire('a');
  const waiting = timed(other.acquire('a', { waitTimeout: Infinity }));
  await untilWaiting('a');
  const aborted = abortOf(lock.signal);
  await redis.admin.config('SET', 'requirepass', 'secret');
  await disconnectAll();
  const end = await leaseEnd(redis, 'a');
  for (const work of [() => one.acquire('b'), () => one.tryAcquire('b'), () => one.inspect('b')]) {
    const { error, ran } = await timed<unknown>(work());
    expect(error).toMatchObject({ code: 'LOCK_STORE', message: expect.stringMatching(/NOAUTH|unreachable for/) });
    expect(ran).toBeLessThan(2 * 500 + LATE);
  }
  expect((await waiting).error).toMatchObject({ code: 'LOCK_STORE' });
  expect(await aborted).toBeLessThan(end + LATE_TIMER);
  expect(lock.isHeld).toBe(false);
  await redis.admin.config('SET', 'requirepass', '');
  const next = await eventually(() => other.acquire('a', { waitTimeout: 5_000 }), { within: 10_000 });
  expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
  expect(await next.release()).toBe(true);
});

it('NOPERM: after a permission is removed, a holder is notified in time, and all works when it is back', async () => {
  await redis.admin.acl('SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all');
  const service = await locks.start(redis.url.replace('//', '//app:secret@'), { renewedLease: LEASE });
  const lock = await service.acquire('a');
  const aborted = abortOf(lock.signal);
  await redis.admin.acl('SETUSER', 'app', '-pexpireat');
  const end = await leaseEnd(redis, 'a');
  await expect(lock.verify()).rejects.toMatchObject({
    code: 'LOCK_STORE',
    message: expect.stringContaining('the Redis user lacks a permission'),
  });
  expect(await aborted).toBeLessThan(end + LATE_TIMER);
  await redis.admin.acl('SETUSER', 'app', '+pexpireat');
  const next = await service.acquire('a', { waitTimeout: 5_000 });
  expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
  expect(await next.release()).toBe(true);
  await nothingLeftBehind(redis);
});

it('BUSY: a holder keeps its lock if the script of another client ends within the lease', async () => {
  await redis.admin.config('SET', 'lua-time-limit', '10');
  const [one, other] = [await locks.start(redis.url, { renewedLease: LEASE }), await locks.start(redis.url)];
  const lock = await one.acquire('a');
  const waiting = other.acquire('a', { waitTimeout: '30s' });
  await untilWaiting('a');
  const busy = timed(redis.client().eval('while true do end', 0));
  await eventually(async () => (await timed(redis.admin.ping())).error?.message.startsWith('BUSY'));
  const released = timed(one.acquire('b', { waitTimeout: 0 }));
  expect((await released).error).toMatchObject({ code: 'LOCK_STORE', transient: true });
  await new Promise((resolve) => setTimeout(resolve, LEASE / 2));
  await redis.admin.script('KILL');
  await busy;
  await eventuallyPasses(() => lock.verify());
  expect(lock.isHeld).toBe(true);
  expect(await lock.release()).toBe(true);
  expect(await (await waiting).release()).toBe(true);
  await nothingLeftBehind(redis);
});

it('LOADING: a server that loads its data serves calls that can wait, and loses no lock', async () => {
  // A server that has much to load: each key takes half a millisecond.
  const args = ['--key-load-delay', '500', '--loading-process-events-interval-bytes', '1024'];
  const server = await startRedis({ args });
  try {
    const service = await locks.start(server.url, { commandTimeout: 10_000 });
    const lock = await service.acquire('a', { expire: '60s' });
    const filling = server.admin.pipeline();
    for (let i = 0; i < 3_000; i++) filling.set(`filling:${i}`, 'x'.repeat(200));
    await filling.exec();
    await server.admin.save();
    await server.kill();
    const started = server.start();
    const refusal = (): Promise<unknown> => server.client({ enableReadyCheck: false, maxRetriesPerRequest: 0 }).ping();
    await eventually(async () => (await timed(refusal())).error?.message.startsWith('LOADING'), { what: 'LOADING' });
    const next = await service.acquire('b', { waitTimeout: 10_000 });
    expect(await next.release()).toBe(true);
    await started;
    await lock.verify();
    expect(await lock.release()).toBe(true);
  } finally {
    await locks.closeAll();
    await server.stop();
  }
});
