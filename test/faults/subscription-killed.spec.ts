import { expect, it } from '@jest/globals';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { FaultLocks, nothingLeftBehind, redisKey } from '../../lab/testbed/locks/fault-locks.js';
import { useRedis } from '../../lab/testbed/locks/fault-setups.js';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';

/** With leases of 30 s waiters ask by themselves after 3 s at the earliest: anything sooner came by other means. */
const SOON = 2_500;

let redis: RedisServer;
const locks = new FaultLocks();

useRedis(locks, (started) => (redis = started));

const waitersOf = (key: string): Promise<number> => redis.admin.zcard(redisKey('queue', key));

it('grants the lock to a waiter whose subscription is killed repeatedly', async () => {
  const [one, other] = [await locks.start(redis.url), await locks.start(redis.url)];
  for (let round = 0; round < 5; round++) {
    const handle = await one.acquire('a');
    const waiting = other.acquire('a');
    await eventually(async () => (await waitersOf('a')) === 1);
    await redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    // Wherever the new subscription stands by now: nowhere, half or whole.
    for (let turn = 0; turn < round * 3; turn++) await redis.admin.ping();
    const since = performance.now();
    await handle.release();
    const next = await waiting;
    expect(performance.now() - since).toBeLessThan(SOON);
    await next.release();
  }
  await nothingLeftBehind(redis);
});

it('does not queue without a subscription, and waits nevertheless', async () => {
  await using proxy = await RespProxy.start(redis);
  const [one, deaf] = [await locks.start(redis.url), await locks.start(proxy.url, { renewedLease: 1_500 })];
  const handle = await one.acquire('a', { expire: 900 });
  // The commands' connection stays; a new subscription is refused.
  proxy.refuse();
  proxy.cutAll(({ isSubscriber }) => isSubscriber);
  await eventually(() => proxy.openConnections.every(({ isSubscriber }) => !isSubscriber));
  const next = await deaf.acquire('a');
  expect(next.fencingToken).toBeGreaterThan(handle.fencingToken);
  expect(handle.isHeld).toBe(false);
  expect(await next.release()).toBe(true);
  await proxy.accept();
  await nothingLeftBehind(redis);
});

it('serves a waiter whose pushed grant was lost within its period', async () => {
  await using proxy = await RespProxy.start(redis);
  const [one, other] = [await locks.start(redis.url), await locks.start(proxy.url, { grantTimeout: 600 })];
  const handle = await one.acquire('a');
  const waiting = other.acquire('a');
  await eventually(async () => (await waitersOf('a')) === 1);
  proxy.dropPushes();
  const since = performance.now();
  expect(await handle.release()).toBe(true);
  const next = await waiting;
  // Its period is its `grantTimeout` and up to a third more.
  expect(performance.now() - since).toBeLessThan(800 + 2_000);
  expect(await next.release()).toBe(true);
  await nothingLeftBehind(redis);
});

it('serves each waiter once if every pushed grant arrives twice', async () => {
  await using proxy = await RespProxy.start(redis);
  const [one, other] = [await locks.start(redis.url), await locks.start(proxy.url)];
  proxy.repeatPushes();
  let [running, most, served] = [0, 0, 0];
  const section = async (): Promise<void> => {
    most = Math.max(most, ++running);
    await redis.admin.ping();
    running -= 1;
    served += 1;
  };
  const services = [one, other];
  await Promise.all(Array.from({ length: 40 }, (_, i) => services[i % 2]!.run('a', section)));
  expect({ most, served }).toEqual({ most: 1, served: 40 });
  expect(locks.told('lost')).toEqual([]);
  await nothingLeftBehind(redis);
});

it('does not rely on a pushed grant that arrives after its lease has ended and another client has the lock', async () => {
  await using proxy = await RespProxy.start(redis);
  const [one, other] = [await locks.start(redis.url), await locks.start(redis.url)];
  const far = await locks.start(proxy.url, { grantTimeout: 300, commandTimeout: 3_000 });
  const handle = await one.acquire('a');
  const order: string[] = [];
  const late = far.acquire('a').then((lock) => {
    order.push('late');
    return lock;
  });
  await eventually(async () => (await waitersOf('a')) === 1);
  const third = other.acquire('a');
  await eventually(async () => (await waitersOf('a')) === 2);
  // Nothing comes or goes, or else it would ask in time, and have a full lease by the answer.
  proxy.holdReplies();
  proxy.holdRequests();
  expect(await handle.release()).toBe(true);
  // Granted to the first waiter, which is not notified; so it ends with its short lease, and the next one is served.
  const lock = await third;
  order.push('third');
  const asked = proxy.seen({ names: ['evalsha'] });
  proxy.heal();
  await asked;
  // Late messages have been received by now, and their answers, too.
  for (let turn = 0; turn < 5; turn++) await lock.verify();
  order.push('release of the third');
  expect(await lock.release()).toBe(true);
  const last = await late;
  expect(order).toEqual(['third', 'release of the third', 'late']);
  expect(last.fencingToken).toBeGreaterThan(lock.fencingToken);
  expect(await last.release()).toBe(true);
  expect(locks.told('lost')).toEqual([]);
  await nothingLeftBehind(redis);
});
