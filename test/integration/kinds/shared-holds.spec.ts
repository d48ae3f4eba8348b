import type { LockHandle } from 'nestjs-redis-locks';
import { LockBench } from '../../../lab/testbed/locks/locks.js';
import { observe, releaseAll } from './support.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

const bench = new LockBench();
const READ = { kind: 'read' } as const;
/** Readers may join for so long that no test is too slow for it. */
const LONG = { localHandoffTime: '10s' } as const;

const { scripts, stored } = observe(bench);

describe('readers of one process', () => {
  it('share one hold in Redis: 1 000 of them cost two commands', async () => {
    const service = await bench.service(LONG);
    // Redis learns the scripts.
    await (await service.acquire('b', READ)).release();
    const first = await service.acquire('a', READ);
    await bench.redis.resetCommandStats();
    const others: LockHandle[] = [];
    for (let i = 0; i < 1_000; i++) others.push((await service.tryAcquire('a', READ))!);
    expect(await releaseAll([first, ...others.slice(1)])).toEqual(Array.from({ length: 1_000 }, () => true));
    expect(await scripts()).toBe(0);
    expect(await stored('a')).toBe(1);
    expect(await others[0]!.release()).toBe(true);
    expect(await scripts()).toBe(1);
    await bench.untilNothingIsLeft();
  });

  it('are served in portions if very many wait', async () => {
    const [writer, readers] = await bench.serviceList(2);
    const lock = await writer!.acquire('a');
    const reading = Array.from({ length: 2_500 }, () => readers!.acquire('a', READ));
    await bench.untilWaiting('a', 1);
    await lock.release();
    const handles = await Promise.all(reading);
    expect(await stored('a')).toBe(3);
    expect(await releaseAll(handles)).toEqual(handles.map(() => true));
    await bench.untilNothingIsLeft();
  });

  it('free the key when the last of them loses its lease, however long the store would keep it', async () => {
    const [service, other] = await bench.serviceList(2, LONG);
    const first = await service!.acquire('a', READ);
    await service!.acquire('a', { ...READ, expire: '2s' });
    await first.release();
    expect(await stored('a')).toBe(1);
    const writer = await other!.acquire('a', { waitTimeout: '8s' });
    expect(writer.isHeld).toBe(true);
    await writer.release();
    await bench.untilNothingIsLeft();
  });

  it('are all shown by inspect in their process, and one of them can be released by force', async () => {
    const [here, there] = await bench.serviceList(2, LONG);
    const handles = await Promise.all([1, 2, 3].map(() => here!.acquire('a', { ...READ, pattern: 'a list' })));
    expect((await there!.inspect('a'))!.holders).toHaveLength(1);
    const { holders } = (await here!.inspect('a'))!;
    expect(new Set(holders.map(({ id }) => id)).size).toBe(3);
    expect(holders.map(({ client, pattern, kind: type }) => [client, pattern, type])).toEqual(
      handles.map(() => [here!.clientId, 'a list', 'read']),
    );
    expect(await here!.forceRelease('a', { hold: holders[1]!.id })).toBe(true);
    expect(handles.map(({ isHeld }) => isHeld)).toEqual([true, false, true]);
    expect(await here!.forceRelease('a', { hold: holders[1]!.id })).toBe(false);
    await handles[0]!.verify();
    expect((await here!.inspect('a'))!.holders).toHaveLength(2);
    // Other processes know the hold in Redis, which ends for all that share it.
    const lost = Promise.all(
      [handles[0]!, handles[2]!].map(
        ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      ),
    );
    expect(await there!.forceRelease('a')).toBe(true);
    await lost;
    expect(handles.filter(({ isHeld }) => isHeld)).toEqual([]);
    await bench.untilNothingIsLeft();
  });

  it('are all lost if Redis does not know their hold any more', async () => {
    const service = await bench.service(LONG);
    const handles = await Promise.all([1, 2, 3].map(() => service.acquire('a', READ)));
    await bench.redis.admin.flushall();
    await expect(handles[1]!.verify()).rejects.toMatchObject({ code: 'LOCK_LOST' });
    expect(handles.filter(({ isHeld }) => isHeld)).toEqual([]);
    expect(await releaseAll(handles)).toEqual([false, false, false]);
  });

  it('refuse handOver while others share the hold, and say what to do instead', async () => {
    const [service, adopter] = await bench.serviceList(2, LONG);
    const [one, two] = await Promise.all([service!.acquire('a', READ), service!.acquire('a', READ)]);
    await expect(one.handOver()).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
      message: expect.stringContaining('fair: true'),
    });
    expect(one.isHeld).toBe(true);
    await two.release();
    const adopted = await adopter!.adopt(await one.handOver());
    expect(adopted.isHeld).toBe(true);
    await adopted.release();
    await bench.untilNothingIsLeft();
  });

  it('share several keys that are read together with nobody', async () => {
    const service = await bench.service(LONG);
    const sets = await Promise.all([1, 2].map(() => service.acquire(['a', 'b'], { ...READ, holdAtLeast: 300 })));
    expect([await stored('a'), await stored('b')]).toEqual([2, 2]);
    expect(new Set(sets.map(({ owner }) => owner)).size).toBe(2);
    await releaseAll(sets);
    expect(await service.tryAcquire('a')).toBeNull();
    await bench.untilNothingIsLeft();
  });
});

describe('callers of one process that wait for permits', () => {
  it('share one ticket, and get as many permits as are free by one grant', async () => {
    const [holder, waiter] = await bench.serviceList(2);
    const all = await holder!.getSemaphore('s', { permits: 5 }).acquire(5);
    const semaphore = waiter!.getSemaphore('s', { permits: 5 });
    const waiting = Array.from({ length: 8 }, () => semaphore.acquire());
    await bench.untilWaiting('s', 1);
    await eventually(async () => (await waiter!.inspect('s'))!.waiters.length === 1);
    await all.release();
    const first = await Promise.all(waiting.slice(0, 5));
    expect(await semaphore.availablePermits()).toBe(0);
    expect(new Set(first.map(({ fencingToken }) => fencingToken)).size).toBe(5);
    expect(first.every(({ fencingToken }) => fencingToken > all.fencingToken)).toBe(true);
    expect(await releaseAll(first)).toEqual(first.map(() => true));
    const rest = await Promise.all(waiting.slice(5));
    expect(await releaseAll(rest)).toEqual(rest.map(() => true));
    expect(await semaphore.availablePermits()).toBe(5);
    await bench.untilNothingIsLeft();
  });

  it('that are lost together are one warning', async () => {
    const service = await bench.service();
    const semaphore = service.getSemaphore('lost', { permits: 50 });
    const handles = await Promise.all(Array.from({ length: 50 }, () => semaphore.acquire()));
    await service.forceRelease('lost');
    await eventually(() => handles.every(({ isHeld }) => !isHeld));
    expect(bench.warnings.filter((line) => line.includes("'lost' is not held any more"))).toHaveLength(1);
  });

  it('pass permits on without a command, each with a larger token', async () => {
    const service = await bench.service(LONG);
    const semaphore = service.getSemaphore('s', { permits: 2 });
    const handles = [await semaphore.acquire()];
    const waiting = Array.from({ length: 20 }, () => semaphore.acquire());
    handles.push(await waiting[0]!);
    await bench.untilWaiting('s', 1);
    const before = await scripts();
    // The permit of the second grant, which is for several callers.
    for (let i = 1; i < 20; i++) {
      expect(await handles.at(-1)!.release()).toBe(true);
      handles.push(await waiting[i]!);
      expect(handles.at(-1)!.fencingToken).toBeGreaterThan(handles.at(-2)!.fencingToken);
    }
    // The last waiter leaves no ticket.
    expect((await scripts()) - before).toBeLessThanOrEqual(1);
    await releaseAll([handles[0]!, handles.at(-1)!]);
    await bench.untilNothingIsLeft();
  });
});
