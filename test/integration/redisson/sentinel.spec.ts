import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { LockService } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { LockServices } from '../../../lab/testbed/locks/lock-services.js';
import { startRedisSentinels, type RedisSentinels } from '../../../lab/testbed/servers/redis-sentinels.mjs';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { timed } from '../../../lab/testbed/wait/timed.mjs';

const CHANNEL = 'redisson_lock__channel:{orders}';
/** Without a message a waiter tries again after 3 s. */
const SOON = 2_500;

let sentinels: RedisSentinels;
const services = new LockServices();

beforeEach(async () => {
  sentinels = await startRedisSentinels();
});
afterEach(async () => {
  await services.closeAll();
  await sentinels.stop();
});

const service = (): Promise<LockService> =>
  services.start({ connection: sentinels.connection, protocol: redisson(), commandTimeout: '15s' });

it('a holder keeps its lock through a failover, and the new master wakes the waiter of the other client', async () => {
  const [one, other] = [await service(), await service()];
  const lock = await one.acquire('orders');
  const waiting = other.acquire('orders', { waitTimeout: '2m' });
  const subscribers = async (): Promise<number> =>
    Number((await (await sentinels.master()).admin.pubsub('NUMSUB', CHANNEL))[1]);
  await eventually(async () => (await subscribers()) === 1);
  await (await sentinels.master()).replicated();
  await sentinels.failover();
  await eventually(async () => (await subscribers()) === 1, {
    within: 30_000,
    what: 'the subscription at the new master',
  });
  await lock.verify();
  const { ran, value } = await timed(async () => {
    expect(await lock.release()).toBe(true);
    return waiting;
  });
  expect(ran).toBeLessThan(SOON);
  expect(await value!.release()).toBe(true);
});
