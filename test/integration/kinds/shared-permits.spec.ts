import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench } from '../../../lab/testbed/locks/locks.js';
import { observe, releaseAll } from './support.js';

const bench = new LockBench();
/** Permits pass on for so long that no test is too slow for it. */
const LONG = { localHandoffTime: '10s' } as const;

const { scripts } = observe(bench);

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
