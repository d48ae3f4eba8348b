import { expect, it } from '@jest/globals';
import { eventually, throughout } from '../../lab/testbed/wait/eventually.mjs';
import { useProxiedRedis } from '../../lab/testbed/locks/fault-setups.js';
import { FaultLocks, nothingLeftBehind, redisKey } from '../../lab/testbed/locks/fault-locks.js';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { type RespProxy, type ConnectionFilter } from '../../lab/testbed/proxies/resp-proxy.mjs';

/** With leases of 30 s waiters ask by themselves after 3 s at the earliest: anything sooner came by other means. */
const SOON = 2_500;
const LISTENING: ConnectionFilter = ({ isSubscriber }) => isSubscriber;
const ASKING: ConnectionFilter = ({ isSubscriber }) => !isSubscriber;

let redis: RedisServer;
let proxy: RespProxy;
const locks = new FaultLocks();

useProxiedRedis(locks, (...both) => ([redis, proxy] = both));

const untilWaiting = (key: string): Promise<unknown> =>
  eventually(async () => (await redis.admin.zcard(redisKey('queue', key))) === 1, { what: 'a waiter' });

it('a client whose connection ends while its commands are still executed acquires a lock once', async () => {
  const [far, near] = [await locks.start(proxy.url), await locks.start(redis.url)];
  await (await far.acquire('a')).release();
  // Its question arrives, and then the connection ends before the answer.
  proxy.holdReplies(ASKING);
  const acquiring = far.acquire('a');
  await eventually(async () => (await near.inspect('a'))?.holds === 1);
  proxy.dropReplies(ASKING);
  proxy.endReplies(ASKING);
  proxy.heal();
  const lock = await acquiring;
  expect((await near.inspect('a'))?.holds).toBe(1);
  expect(await lock.release()).toBe(true);
  expect(await (await near.acquire('a', { waitTimeout: 0 })).release()).toBe(true);
  await nothingLeftBehind(redis);
});

it('a waiter whose subscriber connection ends is served soon nevertheless', async () => {
  const [near, far] = [await locks.start(redis.url), await locks.start(proxy.url)];
  const lock = await near.acquire('a');
  const waiting = far.acquire('a');
  await untilWaiting('a');
  proxy.endReplies(LISTENING);
  const since = performance.now();
  expect(await lock.release()).toBe(true);
  expect(await (await waiting).release()).toBe(true);
  expect(performance.now() - since).toBeLessThan(SOON);
  await nothingLeftBehind(redis);
});

it('a holder whose connection the server has dropped renews on a new one before its lease ends', async () => {
  const LEASE = 4_000;
  const service = await locks.start(proxy.url, { commandTimeout: 400, renewedLease: LEASE });
  const lock = await service.acquire('a');
  proxy.goDeaf(ASKING, { serverNotices: true });
  await throughout(LEASE + 500, () => lock.isHeld);
  await lock.verify();
  expect(locks.told('lost')).toEqual([]);
  expect(await lock.release()).toBe(true);
});

it('a waiter whose subscription the server has dropped is served within its period', async () => {
  const [near, far] = [await locks.start(redis.url), await locks.start(proxy.url, { grantTimeout: 600 })];
  const lock = await near.acquire('a');
  const waiting = far.acquire('a');
  await untilWaiting('a');
  proxy.goDeaf(LISTENING, { serverNotices: true });
  await eventually(async () => (await redis.admin.pubsub('CHANNELS', 'lock:client:*')).length === 1);
  const since = performance.now();
  expect(await lock.release()).toBe(true);
  const next = await waiting;
  // The client is not told that it is deaf: it asks after its `grantTimeout` and up to a third more.
  expect(performance.now() - since).toBeLessThan(800 + 2_000);
  expect(await next.release()).toBe(true);
  await nothingLeftBehind(redis);
});
