import type { LockHandle } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { LockBench } from '../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const READ = { kind: 'read' } as const;
/** Callers may join, and permits pass on, for so long that no test is too slow for it. */
const LONG = { localHandoffTime: '10s' } as const;

const releaseAll = (handles: readonly LockHandle[]): Promise<boolean[]> =>
  Promise.all(handles.map((handle) => handle.release()));

describe('a shared hold that has ended in Redis', () => {
  it.each(['released by force', 'unknown to Redis'])('admits no reader that asks in onLost: %s', async (how) => {
    const [service, other] = await bench.serviceList(2, LONG);
    let again: Promise<LockHandle> | undefined;
    const onLost = (): void => void (again ??= service!.acquire('a', READ));
    const handle = await service!.acquire('a', { ...READ, onLost });
    if (how === 'released by force') await other!.forceRelease('a');
    else {
      await bench.redis.admin.flushall();
      await handle.verify().catch(() => undefined);
    }
    await eventually(() => again !== undefined);
    const next = await again!;
    await next.verify();
    expect(await next.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });
});

describe('permits that pass on', () => {
  it('are no more than the releasing holder had', async () => {
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
    await bench.untilNothingIsLeft();
  });
});

describe('keys with unusual names', () => {
  it('are not taken for the permits of another key', async () => {
    const [holder, service] = await bench.serviceList(2, LONG);
    const locks = await Promise.all([holder!.acquire('1/5 s'), holder!.getSemaphore('s', { permits: 5 }).acquire(5)]);
    const reading = service!.acquire('1/5 s', READ);
    await bench.untilWaiting('1/5 s', 1);
    const permit = service!.getSemaphore('s', { permits: 5 }).acquire();
    await bench.untilWaiting('s', 1);
    await releaseAll(locks);
    await releaseAll(await Promise.all([reading, permit]));
  });
});

describe('several keys', () => {
  it('are read with the protocol of Redisson, even if a caller has to wait for them', async () => {
    const [holder, service] = await bench.serviceList(2, { protocol: redisson() });
    const writer = await holder!.acquire('a', { kind: 'write' });
    const reading = service!.acquire(['a', 'b'], READ);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await writer.release();
    await (await reading).release();
  });

  it('keep their permits for holdAtLeast', async () => {
    const [holder, service] = await bench.serviceList(2, LONG);
    const three = { permits: 3 } as const;
    const all = await holder!.acquire('a', { ...three, units: 3 });
    const first = service!.acquire('a', three);
    await bench.untilWaiting('a', 1);
    const set = service!.acquire(['a', 'b'], { ...three, holdAtLeast: '1h' });
    const alone = service!.acquire('a', three);
    // So that the caller of several keys waits for the first one.
    await service!.inspect('a');
    await all.release();
    const handles = await Promise.all([first, set, alone]);
    await releaseAll(handles);
    expect(await holder!.getSemaphore('a', three).availablePermits()).toBe(2);
  });
});

describe('a caller that shares a grant with one of a short lease', () => {
  it('gets its own lease at once', async () => {
    const [holder, service] = await bench.serviceList(2);
    const writer = await holder!.acquire('a');
    const short = service!.acquire('a', { ...READ, expire: 300 });
    const long = service!.acquire('a', READ);
    await bench.untilWaiting('a', 1);
    await writer.release();
    const handle = await long;
    await eventually(() => handle.remainingTime() > 2_000, { within: 50 });
    await releaseAll([await short, handle]);
  });
});

describe('inspect', () => {
  it('shows the token of each caller that shares permits', async () => {
    const [holder, service] = await bench.serviceList(2, LONG);
    const all = await holder!.acquire('a', { permits: 2, units: 2 });
    const waiting = [1, 2, 3].map(() => service!.acquire('a', { permits: 2 }));
    await bench.untilWaiting('a', 1);
    await all.release();
    const handles = await Promise.all(waiting.slice(0, 2));
    const tokens = async (): Promise<number[]> =>
      (await service!.inspect('a'))!.holders.map(({ fencingToken }) => fencingToken).sort();
    const tokensOf = (...held: LockHandle[]): number[] => held.map(({ fencingToken }) => fencingToken).sort();
    expect(await tokens()).toEqual(tokensOf(...handles));
    await handles[0]!.release();
    const third = await waiting[2]!;
    expect(await tokens()).toEqual(tokensOf(handles[1]!, third));
    await handles[1]!.release();
    expect(await tokens()).toEqual(tokensOf(third));
    await third.release();
  });
});

describe('readers that were granted before a fair caller', () => {
  it('let no other reader of their process overtake it', async () => {
    const [holder, readers, fair] = await bench.serviceList(3, LONG);
    const writer = await holder!.acquire('a');
    const reading = readers!.acquire('a', READ);
    await bench.untilWaiting('a', 1);
    const waiting = fair!.acquire('a', { fair: true });
    await bench.untilWaiting('a', 2);
    await writer.release();
    const first = await reading;
    await readers!.inspect('a');
    const late = readers!.acquire('a', READ);
    await bench.untilWaiting('a', 2);
    await first.release();
    const handle = await waiting;
    await handle.release();
    expect((await late).fencingToken).toBeGreaterThan(handle.fencingToken);
    await (await late).release();
    await bench.untilNothingIsLeft();
  });
});
