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
