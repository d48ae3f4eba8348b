import { expect, it } from '@jest/globals';
import { SCRIPTS } from '../../../lib/store/redis/scripts.generated.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

it('an extension whose script the server does not know is not executed after a later one', async () => {
  const proxy = await bench.proxy();
  const service = await bench.service({ connection: proxy.url });
  const lock = await service.acquire('a', { expire: 20_000 });
  await bench.redis.admin.script('FLUSH', 'SYNC');
  const { evalsha = 0, eval: byText = 0 } = await bench.redis.commandStats();
  proxy.holdReplies();
  const shorter = lock.extend(400);
  await eventually(async () => {
    const stats = await bench.redis.commandStats();
    return (stats['evalsha'] ?? 0) + (stats['eval'] ?? 0) > evalsha + byText;
  });
  // Another client comes by with it.
  await bench.redis.admin.script('LOAD', SCRIPTS.extend.source);
  const longer = lock.extend(20_000);
  proxy.heal();
  await Promise.all([shorter, longer]);
  const stored = await service.inspect('a');
  expect(lock.remainingTime()).toBeLessThanOrEqual(stored!.ttl);
  expect(lock.remainingTime()).toBeGreaterThan(15_000);
  expect(await lock.release()).toBe(true);
});

it('a duplicate extension that arrives late, on the lost connection, does not end the lock of its holder', async () => {
  const proxy = await bench.proxy();
  const service = await bench.service({ connection: proxy.url });
  const lock = await service.acquire('a', { expire: 20_000 });
  const [lost] = proxy.openConnections.filter(({ isSubscriber }) => !isSubscriber);
  proxy.holdRequests((connection) => connection === lost);
  const isOnItsWay = proxy.seen({ names: ['eval'] });
  const shorter = lock.extend(3_000);
  await isOnItsWay;
  // The client sends it again on the next connection; the bytes that the first one has taken are still under way.
  proxy.endReplies((connection) => connection === lost);
  await shorter;
  await lock.extend(20_000);
  proxy.heal();
  await eventually(async () => (await service.inspect('a'))!.ttl <= 3_000);
  expect(lock.remainingTime()).toBeLessThanOrEqual((await service.inspect('a'))!.ttl);
  // It is still to be the whole lease, and is, as the holder asks for it.
  await eventually(async () => (await service.inspect('a'))!.ttl > 15_000);
  expect(lock.isHeld).toBe(true);
  expect(await lock.release()).toBe(true);
});
