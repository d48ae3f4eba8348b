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

  it('distinguishes keys that look like parts of another lock', async () => {
    const [here, there] = await bench.serviceList(2);
    for (const key of ['a', 'queue:a', 'state:{a}', 'a:fence', 'lock:state:a', 'A']) {
      expect(await here!.tryAcquire(key)).not.toBeNull();
      expect(await there!.tryAcquire(key)).toBeNull();
    }
  });

  it('shows each of many readers once, and forceRelease ends them all for a writer that waits', async () => {
    const READERS = 450;
    const [here, there] = await bench.serviceList(2);
    const locks = await Promise.all(
      Array.from({ length: READERS }, () => here!.acquire('a', { kind: 'read', fair: true })),
    );
    const writer = there!.acquire('a', { waitTimeout: Infinity });
    await bench.untilWaiting('a', 1);
    const { holders, waiters } = (await there!.inspect('a'))!;
    expect(holders.map(({ fencingToken }) => fencingToken).sort()).toEqual(
      locks.map(({ fencingToken }) => fencingToken).sort(),
    );
    expect(waiters).toHaveLength(1);

    expect(await there!.forceRelease('a')).toBe(true);
    await (await writer).release();
    expect(await bench.redis.admin.keys('lock:*')).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/state|ends/)]),
    );
  });
});
