import { expect, it } from '@jest/globals';
import { LockBench } from '../../../lab/testbed/locks/locks.js';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

const bench = new LockBench();

it('a late message about the end of an earlier grant does not end a later one', async () => {
  const proxy = await RespProxy.start({ port: bench.redis.port });
  const one = await bench.service();
  const two = await bench.service({ connection: proxy.url, grantTimeout: 300 });
  const lock = await one.acquire('a');
  const waiting = two.acquire('a');
  await bench.untilWaiting('a', 1);
  proxy.holdReplies(({ isSubscriber }) => isSubscriber);
  await lock.release();
  expect(await one.forceRelease('a')).toBe(true);
  const second = await waiting;
  expect(second.isHeld).toBe(true);
  const marker = await two.acquire('b');
  proxy.heal();
  // Its message comes behind the late one, on the same connection.
  await one.forceRelease('b');
  await eventually(() => !marker.isHeld);
  const { isHeld } = second;
  await second.release();
  await proxy.close();
  expect(isHeld).toBe(true);
});
