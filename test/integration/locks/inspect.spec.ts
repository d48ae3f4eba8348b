import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

describe('inspect', () => {
  it('counts the callers of this process that wait, whether they have a ticket or not', async () => {
    const [here, there] = await bench.serviceList(2);
    const lock = await here!.acquire('a');
    const waits = [here!.acquire('a'), here!.acquire('a')];
    await eventually(async () => (await here!.inspect('a'))!.waitingHere === 2);
    expect((await here!.inspect('a'))!.waiters).toEqual([]);
    waits.push(there!.acquire('a'), here!.acquire('a', { fair: true }));
    await bench.untilWaiting('a', 2);
    expect(await here!.inspect('a')).toMatchObject({ waitingHere: 3, waiters: [{}, {}] });
    expect(await there!.inspect('a')).toMatchObject({ waitingHere: 1, waiters: [{}, {}] });
    await lock.release();
    await Promise.all(waits.map(async (wait) => (await wait).release()));
  });

  it('costs one command, and changes nothing', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a');
    const dump = () => bench.redis.admin.hgetall('lock:state:{a}');
    await service.inspect('a');
    const before = await dump();
    await bench.redis.resetCommandStats();
    await service.inspect('a');
    expect((await bench.redis.commandStats())['evalsha']).toBe(1);
    expect(await dump()).toEqual(before);
    await lock.verify();
  });
});
