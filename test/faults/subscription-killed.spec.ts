import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { nothingLeftBehind, redisKey } from '../../lab/testbed/locks/fault-locks.js';
import { LockBench } from '../../lab/testbed/locks/locks.js';

/** With leases of 30 s waiters ask by themselves after 3 s at the earliest: anything sooner came by other means. */
const SOON = 2_500;

const bench = new LockBench();

const waitersOf = (key: string): Promise<number> => bench.redis.admin.zcard(redisKey('queue', key));

it('grants the lock to a waiter whose subscription is killed repeatedly', async () => {
  const [one, other] = [await bench.service(), await bench.service()];
  for (let round = 0; round < 5; round++) {
    const handle = await one.acquire('a');
    const waiting = other.acquire('a');
    await eventually(async () => (await waitersOf('a')) === 1);
    await bench.redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    // Wherever the new subscription stands by now: nowhere, half or whole.
    for (let turn = 0; turn < round * 3; turn++) await bench.redis.admin.ping();
    const since = performance.now();
    await handle.release();
    const next = await waiting;
    expect(performance.now() - since).toBeLessThan(SOON);
    await next.release();
  }
  await nothingLeftBehind(bench.redis);
});

it('does not queue without a subscription, and waits nevertheless', async () => {
  const proxy = await bench.proxy();
  const [one, deaf] = [await bench.service(), await bench.service({ connection: proxy.url, renewedLease: 1_500 })];
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
  await nothingLeftBehind(bench.redis);
});
