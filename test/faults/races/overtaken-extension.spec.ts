import { expect, it } from '@jest/globals';
import { SCRIPTS } from '../../../lib/store/redis/scripts.generated.js';
import { eventually } from '../../support/eventually.js';
import { LockBench } from '../../support/locks.js';

const bench = new LockBench();

it('C1 an extension that the server does not understand at first is not executed behind a later one', async () => {
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
