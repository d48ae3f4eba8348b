import type { LockHandle } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { LockBench, eventually, lockError } from '../../../lab/testbed/locks/locks.js';
import { observe, releaseAll } from './support.js';

const bench = new LockBench({ leavesNothing: true });
const READ = { kind: 'read' } as const;
/** Callers may join, and permits pass on, for so long that no test is too slow for it. */
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
  });

  it('are served in portions if very many wait', async () => {
    const [writer, readers] = await bench.pair();
    const lock = await writer.acquire('a');
    const reading = Array.from({ length: 2_500 }, () => readers.acquire('a', READ));
    await bench.untilWaiting('a', 1);
    await lock.release();
    const handles = await Promise.all(reading);
    expect(await stored('a')).toBe(3);
    expect(await releaseAll(handles)).toEqual(handles.map(() => true));
  });

  it('free the key when the last of them loses its lease, however long the store would keep it', async () => {
    const [service, other] = await bench.pair(LONG);
    const first = await service.acquire('a', READ);
    await service.acquire('a', { ...READ, expire: '2s' });
    await first.release();
    expect(await stored('a')).toBe(1);
    const writer = await other.acquire('a', { waitTimeout: '8s' });
    expect(writer.isHeld).toBe(true);
    await writer.release();
  });

  it('are all shown by inspect in their process, and one of them can be released by force', async () => {
    const [here, there] = await bench.pair(LONG);
    const handles = await Promise.all([1, 2, 3].map(() => here.acquire('a', { ...READ, pattern: 'a list' })));
    expect((await there.inspect('a'))!.holders).toHaveLength(1);
    const { holders } = (await here.inspect('a'))!;
    expect(new Set(holders.map(({ id }) => id)).size).toBe(3);
    expect(holders.map(({ client, pattern, kind: type }) => [client, pattern, type])).toEqual(
      handles.map(() => [here.clientId, 'a list', 'read']),
    );
    expect(await here.forceRelease('a', { hold: holders[1]!.id })).toBe(true);
    expect(handles.map(({ isHeld }) => isHeld)).toEqual([true, false, true]);
    expect(await here.forceRelease('a', { hold: holders[1]!.id })).toBe(false);
    await handles[0]!.verify();
    expect((await here.inspect('a'))!.holders).toHaveLength(2);
    // Other processes know the hold in Redis, which ends for all that share it.
    const lost = Promise.all(
      [handles[0]!, handles[2]!].map(
        ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      ),
    );
    expect(await there.forceRelease('a')).toBe(true);
    await lost;
    expect(handles.filter(({ isHeld }) => isHeld)).toEqual([]);
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
    const [service, adopter] = await bench.pair(LONG);
    const [one, two] = await Promise.all([service.acquire('a', READ), service.acquire('a', READ)]);
    await expect(one.handOver()).rejects.toEqual(lockError('LOCK_CONFIG', 'fair: true'));
    expect(one.isHeld).toBe(true);
    await two.release();
    const adopted = await adopter.adopt(await one.handOver());
    expect(adopted.isHeld).toBe(true);
    await adopted.release();
  });

  it('share several keys that are read together with nobody', async () => {
    const service = await bench.service(LONG);
    const sets = await Promise.all([1, 2].map(() => service.acquire(['a', 'b'], { ...READ, holdAtLeast: 300 })));
    expect([await stored('a'), await stored('b')]).toEqual([2, 2]);
    expect(new Set(sets.map(({ owner }) => owner)).size).toBe(2);
    await releaseAll(sets);
    expect(await service.tryAcquire('a')).toBeNull();
  });
});

describe('callers of one process that wait for permits', () => {
  it('share one ticket, and get as many permits as are free by one grant', async () => {
    const [holder, waiter] = await bench.pair();
    const all = await holder.getSemaphore('s', { permits: 5 }).acquire(5);
    const semaphore = waiter.getSemaphore('s', { permits: 5 });
    const waiting = Array.from({ length: 8 }, () => semaphore.acquire());
    await bench.untilWaiting('s', 1);
    await all.release();
    const first = await Promise.all(waiting.slice(0, 5));
    expect(await semaphore.availablePermits()).toBe(0);
    expect(new Set(first.map(({ fencingToken }) => fencingToken)).size).toBe(5);
    expect(first.every(({ fencingToken }) => fencingToken > all.fencingToken)).toBe(true);
    expect(await releaseAll(first)).toEqual(first.map(() => true));
    const rest = await Promise.all(waiting.slice(5));
    expect(await releaseAll(rest)).toEqual(rest.map(() => true));
    expect(await semaphore.availablePermits()).toBe(5);
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
  });
});

describe('a shared hold that has ended in Redis', () => {
  it.each(['released by force', 'unknown to Redis'])('admits no reader that asks in onLost: %s', async (how) => {
    const [service, other] = await bench.pair(LONG);
    let again: Promise<LockHandle> | undefined;
    const onLost = (): void => void (again ??= service.acquire('a', READ));
    const handle = await service.acquire('a', { ...READ, onLost });
    if (how === 'released by force') await other.forceRelease('a');
    else {
      await bench.redis.admin.flushall();
      await handle.verify().catch(() => undefined);
    }
    await eventually(() => again !== undefined);
    const next = await again!;
    await next.verify();
    expect(await next.release()).toBe(true);
  });
});

it('permits that pass on are no more than the releasing holder had', async () => {
  const service = await bench.service(LONG);
  const two = { permits: 2, units: 2 } as const;
  const first = await service.acquire('s', two);
  const waiting = service.acquire('s', two);
  await bench.untilWaiting('s', 1);
  await first.releaseUnits(1);
  await first.release();
  const handle = await waiting;
  // Redis has given it both permits.
  expect(await service.tryAcquire('s', { permits: 2 })).toBeNull();
  await handle.release();
});

it('keys with unusual names are not taken for the permits of another key', async () => {
  const [holder, service] = await bench.pair(LONG);
  const locks = await Promise.all([holder.acquire('1/5 s'), holder.getSemaphore('s', { permits: 5 }).acquire(5)]);
  const reading = service.acquire('1/5 s', READ);
  await bench.untilWaiting('1/5 s', 1);
  const permit = service.getSemaphore('s', { permits: 5 }).acquire();
  await bench.untilWaiting('s', 1);
  await releaseAll(locks);
  await releaseAll(await Promise.all([reading, permit]));
});

describe('several keys', () => {
  it('are read with the protocol of Redisson, even if a caller has to wait for them', async () => {
    const [holder, service] = await bench.pair({ protocol: redisson() });
    const writer = await holder.acquire('a', { kind: 'write' });
    const reading = service.acquire(['a', 'b'], READ);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await writer.release();
    await (await reading).release();
  });

  it('keep their permits for holdAtLeast', async () => {
    const [holder, service] = await bench.pair(LONG);
    const three = { permits: 3 } as const;
    const all = await holder.acquire('a', { ...three, units: 3 });
    const first = service.acquire('a', three);
    await bench.untilWaiting('a', 1);
    const set = service.acquire(['a', 'b'], { ...three, holdAtLeast: '1h' });
    const alone = service.acquire('a', three);
    // So that the caller of several keys waits for the first one.
    await service.inspect('a');
    await all.release();
    const handles = await Promise.all([first, set, alone]);
    await releaseAll(handles);
    expect(await holder.getSemaphore('a', three).availablePermits()).toBe(2);
    for (const key of ['a', 'b']) await holder.forceRelease(key);
  });
});

it('a caller that shares a grant with one of a short lease gets its own lease at once', async () => {
  const [holder, service] = await bench.pair();
  const writer = await holder.acquire('a');
  const short = service.acquire('a', { ...READ, expire: 300 });
  const long = service.acquire('a', READ);
  await bench.untilWaiting('a', 1);
  await writer.release();
  const handle = await long;
  await eventually(() => handle.remainingTime() > 2_000, { within: 50 });
  await releaseAll([await short, handle]);
});

it('inspect shows the token of each caller that shares permits', async () => {
  const [holder, service] = await bench.pair(LONG);
  const all = await holder.acquire('a', { permits: 2, units: 2 });
  const waiting = [1, 2, 3].map(() => service.acquire('a', { permits: 2 }));
  await bench.untilWaiting('a', 1);
  await all.release();
  const handles = await Promise.all(waiting.slice(0, 2));
  const tokens = async (): Promise<number[]> =>
    (await service.inspect('a'))!.holders.map(({ fencingToken }) => fencingToken).sort();
  const tokensOf = (...held: LockHandle[]): number[] => held.map(({ fencingToken }) => fencingToken).sort();
  expect(await tokens()).toEqual(tokensOf(...handles));
  await handles[0]!.release();
  const third = await waiting[2]!;
  expect(await tokens()).toEqual(tokensOf(handles[1]!, third));
  await handles[1]!.release();
  expect(await tokens()).toEqual(tokensOf(third));
  await third.release();
});

it('readers that were granted before a fair caller let no other reader of their process overtake it', async () => {
  const [holder, readers, fair] = await bench.serviceList(3, LONG);
  const { lock: writer, waiting: reading } = await bench.contended(holder, readers, READ);
  const waiting = fair.acquire('a', { fair: true });
  await bench.untilWaiting('a', 2);
  await writer.release();
  const first = await reading;
  await readers.inspect('a');
  const late = readers.acquire('a', READ);
  await bench.untilWaiting('a', 2);
  await first.release();
  const handle = await waiting;
  await handle.release();
  expect((await late).fencingToken).toBeGreaterThan(handle.fencingToken);
  await (await late).release();
});
