import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { AT_ONCE, LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

describe('inspect', () => {
  it('shows owner, holds, ttl, token and waiters', async () => {
    const [here, there, last] = await bench.serviceList(3);
    expect(await here!.inspect('a')).toBeNull();
    const before = Date.now();
    const lock = await here!.acquire('a', { owner: 'me', expire: '20s' });
    const again = await here!.acquire('a', { owner: 'me', expire: '10s' });
    const waits = [there!.acquire('a'), there!.acquire('a')];
    await bench.untilWaiting('a', 1);
    waits.push(last!.acquire('a', { owner: 'you' }));
    await bench.untilWaiting('a', 2);

    const info = (await there!.inspect('a'))!;
    expect(info).toMatchObject({ key: 'a', owner: 'me', holds: 2, fencingToken: again.fencingToken });
    expect(info.ttl).toBeLessThanOrEqual(20_000);
    expect(info.ttl).toBeGreaterThan(20_000 - 2 * AT_ONCE);
    const [one, two] = [...info.holders].sort((a, b) => a.fencingToken - b.fencingToken);
    expect([one, two]).toMatchObject([
      { owner: 'me', fencingToken: lock.fencingToken, kept: false },
      { owner: 'me', fencingToken: again.fencingToken, kept: false },
    ]);
    expect(two!.ttl).toBeLessThanOrEqual(10_000);
    expect(one!.client).toBe(two!.client);
    expect(one!.id).not.toBe(two!.id);
    expect(Math.abs(one!.since.getTime() - before)).toBeLessThan(AT_ONCE);

    // One ticket for the waiters of one client, first come first.
    expect(info.waiters).toHaveLength(2);
    expect(info.waiters[1]).toMatchObject({ owner: 'you' });
    expect(new Set([one!.client, ...info.waiters.map(({ client }) => client)]).size).toBe(3);

    await Promise.all([lock.release(), again.release()]);
    await Promise.all(waits.map(async (wait) => (await wait).release()));
    expect(await here!.inspect('a')).toBeNull();
  });

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
