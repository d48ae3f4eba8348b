import { expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

it.each([
  [20_000, 400],
  [400, 20_000],
])('overlapping extensions of %d and %d ms keep the longer lease', async (first, second) => {
  const proxy = await bench.proxy();
  const service = await bench.service({ connection: proxy.url });
  const lock = await service.acquire('a', { expire: 5_000 });
  // From now on the server knows the script.
  await lock.verify();
  proxy.holdReplies();
  const both = [lock.extend(first), lock.extend(second)];
  await eventually(async () => (await bench.redis.admin.pttl('lock:state:{a}')) > 15_000);
  proxy.heal();
  await Promise.all(both);
  expect(lock.remainingTime()).toBeGreaterThan(15_000);
  await lock.verify();
  expect(await lock.release()).toBe(true);
});

it('a duplicate extension that arrives late, on the lost connection, changes nothing', async () => {
  const proxy = await bench.proxy();
  const service = await bench.service({ connection: proxy.url });
  const lock = await service.acquire('a', { expire: 20_000 });
  const [lost] = proxy.openConnections.filter(({ isSubscriber }) => !isSubscriber);
  proxy.holdRequests((connection) => connection === lost);
  const isOnItsWay = proxy.seen({ names: ['evalsha', 'eval'] });
  const shorter = lock.extend(3_000);
  await isOnItsWay;
  // The client sends it again on the next connection; the bytes that the first one has taken are still under way.
  proxy.endReplies((connection) => connection === lost);
  await shorter;
  await lock.extend(20_000);
  proxy.heal();
  await lock.verify();
  expect((await service.inspect('a'))!.ttl).toBeGreaterThan(15_000);
  expect(await lock.release()).toBe(true);
});
