import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { RedlockBench } from '../../integration/redlock/support.js';

const bench = new RedlockBench(3);

it('waiters send no more requests if one master is frozen', async () => {
  const [one, other] = await bench.serviceList(2, { commandTimeout: 5_000, grantTimeout: 300 });
  const lock = await one!.acquire('a');
  const waiting = other!.acquire('a', { waitTimeout: 20_000 });
  await bench.untilWaiting('a', 1);
  await bench.masters[2]!.pause();
  await sleep(500);
  await bench.masters[0]!.resetCommandStats();
  await sleep(2_000);
  const { evalsha = 0 } = await bench.masters[0]!.commandStats();
  await bench.masters[2]!.resume();
  await lock.release();
  await (await waiting).release();
  expect(evalsha).toBeLessThan(40);
});
