import { setTimeout as sleep } from 'node:timers/promises';
import { RedlockBench } from '../integration/redlock/support.js';
import { expectHandoff, redisKey, eventually, lockError } from '../../lab/testbed/locks/locks.js';

const bench = new RedlockBench(3);

it('Redlock over three masters works with one master whose memory is full, and reports two', async () => {
  const service = await bench.service({ commandTimeout: 5_000 });
  const fill = ({ admin }: (typeof bench.masters)[number]): Promise<unknown> => admin.config('SET', 'maxmemory', '1');
  try {
    await fill(bench.masters[0]!);
    const lock = await service.acquire('a');
    expect(await bench.holding('a')).toEqual([false, true, true]);
    await fill(bench.masters[1]!);
    await lock.verify();
    expect(await lock.release()).toBe(true);
    // Two refusals decide it, so the third master is to have answered before they come.
    const full = bench.masters.slice(0, 2);
    await Promise.all(full.map((master) => master.pause()));
    const refused = service.acquire('b').catch((error: unknown) => error);
    await eventually(() => bench.masters[2]!.admin.exists(redisKey('state', 'b')));
    await Promise.all(full.map((master) => master.resume()));
    expect(await refused).toEqual(lockError('LOCK_STORE', /1 of 3 masters answered.*out of memory/));
  } finally {
    for (const { admin } of bench.masters) await admin.config('SET', 'maxmemory', '0');
  }
  await bench.untilNothingIsLeft();
});

it('errors name the key while the masters are down', async () => {
  const service = await bench.service({ commandTimeout: 500 });
  const [one, other] = [await service.acquire('one'), await service.acquire('other')];
  await Promise.all(bench.masters.map((master) => master.kill()));
  const calls = {
    one: [one.verify(), one.extend(20_000), one.release()],
    other: [other.handOver()],
    free: [service.acquire('free'), service.tryAcquire('free'), service.inspect('free'), service.forceRelease('free')],
  };
  const ends = Object.entries(calls).map(([key, failing]) => ({ key, ended: Promise.allSettled<unknown>(failing) }));
  for (const { key, ended } of ends) {
    const rejected = { status: 'rejected', reason: expect.objectContaining({ code: 'LOCK_STORE', key }) };
    for (const end of await ended) expect(end).toEqual(rejected);
  }
});

it('a lock that was requested from a master that went down, and released, is not held when the master is back', async () => {
  const commandTimeout = 500;
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

it('waiters send no more requests if one master is frozen', async () => {
  const [one, other] = await bench.pair({ commandTimeout: 5_000, grantTimeout: 300 });
  const { lock, waiting } = await bench.contended(one, other, { waitTimeout: 20_000 });
  await bench.masters[2]!.pause();
  await sleep(500);
  await bench.masters[0]!.resetCommandStats();
  await sleep(2_000);
  const { evalsha = 0 } = await bench.masters[0]!.commandStats();
  await bench.masters[2]!.resume();
  await expectHandoff(lock, waiting);
  expect(evalsha).toBeLessThan(40);
});
