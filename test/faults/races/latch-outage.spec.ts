import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, throughout } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const commandTimeout = 400;

it('a count-down whose reply was lost counts once, however long the network is away', async () => {
  const proxy = await bench.proxy();
  const service = await bench.service({ connection: proxy.url, commandTimeout });
  const near = (await bench.service()).getCountDownLatch('job');
  const far = service.getCountDownLatch('job');
  await near.trySetCount(1);
  await near.countDown();
  expect(await near.trySetCount(2)).toBe(true);
  await eventually(async () => (await far.getCount()) >= 0);
  const cut = proxy.cutAfterCommand(({ name }) => name === 'eval' || name === 'evalsha');
  proxy.refuse();
  const counting = far.countDown().catch((error: Error) => error.message);
  await cut.happened;
  await counting;
  // The script may not be known yet: then this was its first try, and the second is sent later.
  await sleep(4 * commandTimeout);
  const before = await near.getCount();
  await proxy.accept();
  await eventually(async () => (await far.getCount()) >= 0);
  await throughout(300, async () => (await near.getCount()) === before);
});
