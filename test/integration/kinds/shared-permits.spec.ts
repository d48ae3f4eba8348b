import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench } from '../../../lab/testbed/locks/locks.js';
import { redisKey } from '../../../lab/testbed/locks/redis-key.mjs';
import { observe, releaseAll } from './support.js';

const bench = new LockBench();
/** Permits pass on for so long that no test is too slow for it. */
const LONG = { localHandoffTime: '10s' } as const;

const { scripts, stored } = observe(bench);

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

  it('release their permits one by one, and other processes get them at once', async () => {
    const [here, there] = await bench.serviceList(2, LONG);
    const blocker = await there!.getSemaphore('s', { permits: 3 }).acquire(3);
    const waiting = Array.from({ length: 3 }, () => here!.getSemaphore('s', { permits: 3 }).acquire());
    await bench.untilWaiting('s', 1);
    await eventually(async () => (await stored('s')) === 1);
    await blocker.release();
    const handles = await Promise.all(waiting);
    const next = there!.getSemaphore('s', { permits: 3 }).acquire();
    await bench.untilWaiting('s', 1);
    expect(await handles[1]!.release()).toBe(true);
    const got = await next;
    expect(handles.map(({ isHeld }) => isHeld)).toEqual([true, false, true]);
    expect(await releaseAll([handles[0]!, handles[2]!, got])).toEqual([true, true, true]);
    await bench.untilNothingIsLeft();
  });

  it('release the permits for which no caller is left', async () => {
    const [holder, waiter] = await bench.serviceList(2);
    const all = await holder!.getSemaphore('s', { permits: 6 }).acquire(6);
    const aborts = Array.from({ length: 6 }, () => new AbortController());
    const waiting = aborts.map(({ signal }) => waiter!.getSemaphore('s', { permits: 6 }).acquire(1, { signal }));
    const outcomes = Promise.allSettled(waiting);
    await bench.untilWaiting('s', 1);
    // So that the ticket in Redis asks for six.
    await eventually(
      async () => {
        const [ticket = ''] = await bench.redis.admin.hvals(redisKey('waiters', 's'));
        return ticket.includes(' permits:1/6*6 ');
      },
      { within: 10_000 },
    );
    for (const abort of aborts.slice(2)) abort.abort();
    await all.release();
    const held = (await outcomes).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(held).toHaveLength(2);
    await eventually(async () => (await holder!.getSemaphore('s', { permits: 6 }).availablePermits()) === 4);
    expect(await releaseAll(held)).toEqual([true, true]);
    await bench.untilNothingIsLeft();
  });

  it('pass no permit on once there are fewer, or another process waits', async () => {
    const [here, there] = await bench.serviceList(2, LONG);
    const semaphore = here!.getSemaphore('s', { permits: 2 });
    const held = await Promise.all([semaphore.acquire(), semaphore.acquire()]);
    let more = 0;
    const waiting = Array.from({ length: 2 }, () =>
      semaphore.acquire().then((handle) => {
        more += 1;
        return handle;
      }),
    );
    await bench.untilWaiting('s', 1);
    await there!.getSemaphore('s', { permits: 2 }).setPermits(1);
    await eventually(async () => (await here!.getSemaphore('s', { permits: 2 }).getPermits()) === 1);
    await held[0].release();
    expect(await semaphore.availablePermits()).toBe(0);
    expect(more).toBe(0);
    await held[1].release();
    for (const each of waiting) await (await each).release();
    await bench.untilNothingIsLeft();
  });

  it('keep leases of their own: the permits of one whose lease ends are free, those of the others are not', async () => {
    const [holder, service] = await bench.serviceList(2, LONG);
    const all = await holder!.getSemaphore('s', { permits: 3 }).acquire(3);
    const semaphore = service!.getSemaphore('s', { permits: 3 });
    const waiting = [
      semaphore.acquire(1, { expire: '20s' }),
      semaphore.acquire(1, { expire: '2s' }),
      semaphore.acquire(1),
    ];
    await bench.untilWaiting('s', 1);
    await all.release();
    const handles = await Promise.all(waiting);
    await eventually(() => !handles[1]!.isHeld, { within: 10_000 });
    await eventually(async () => (await semaphore.availablePermits()) === 1);
    await handles[0]!.verify();
    await handles[2]!.verify();
    expect(await releaseAll([handles[0]!, handles[2]!])).toEqual([true, true]);
    await bench.untilNothingIsLeft();
  });
});
