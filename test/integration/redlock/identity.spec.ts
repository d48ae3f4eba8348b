import { expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);

it('clients of independent masters name each other, also while a master is away', async () => {
  const observer = await bench.service();
  const holder = await bench.service({ label: 'orders:1' });
  const waiter = await bench.service({ label: 'imports:2' });
  const lock = await holder.acquire('a', { pattern: 'order:{id}' });
  const waiting = waiter.acquire('a', { pattern: 'import' });
  const named = async (): Promise<boolean> => {
    const info = (await observer.inspect('a'))!;
    expect(info.holders).toMatchObject([{ label: 'orders:1', pattern: 'order:{id}', client: holder.clientId }]);
    expect(info.waiters).toMatchObject([{ label: 'imports:2', pattern: 'import', client: waiter.clientId }]);
    return true;
  };
  await eventually(named);
  const since = async (): Promise<number | undefined> => (await observer.inspect('a'))?.waiters[0]?.since.getTime();
  expect(Math.abs((await since())! - Date.now())).toBeLessThan(60_000);

  // Another client, which has read no record yet.
  await bench.masters[0]!.kill();
  const late = await bench.service();
  const first = async () => (await late.inspect('a'))?.holders[0];
  await eventually(async () => (await first())?.label === 'orders:1', { within: 20_000 });
  await lock.release();
  await (await waiting).release();
});
