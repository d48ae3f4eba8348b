import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { RedlockBench } from '../../integration/redlock/support.js';

const bench = new RedlockBench(3);
const commandTimeout = 500;

it('a lock that was requested from a master that went down, and released, is not held when the master is back', async () => {
  const service = await bench.service({ commandTimeout });
  await (await service.acquire('warm')).release();
  await bench.masters[2]!.kill();
  await sleep(20);
  const locks = await Promise.all(['a', 'b', 'c'].map((key) => service.acquire(key)));
  await sleep(2 * commandTimeout);
  for (const lock of locks) expect(await lock.release()).toBe(true);
  await bench.masters[2]!.start();
  await sleep(2_500);
  const left = await bench.masters[2]!.admin.keys('lock:state:*');
  expect(left).toEqual([]);
});
