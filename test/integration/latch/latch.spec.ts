import type { CountDownLatch, LockService } from 'nestjs-redis-locks';
import { AT_ONCE, LockBench, timed, eventually, lockError } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const KEY = 'lock:latch:{a}';

/** The clients that are noted down as waiting for the latch. */
const registered = async (): Promise<string[]> =>
  Object.keys(await bench.redis.admin.hgetall(KEY)).filter((field) => field.startsWith('client:'));

/** Resolves when so many clients wait in Redis. */
const untilRegistered = (count: number): Promise<unknown> =>
  eventually(async () => (await registered()).length === count, { what: `${count} waiting clients` });

/** The state that the client keeps for waiters. */
const watched = (service: LockService): number =>
  (service as unknown as { engine: { latches: { watches: Map<string, unknown> } } }).engine.latches.watches.size;

describe('a count-down latch', () => {
  it('expires without a count-down for its expire, which each count-down restarts', async () => {
    const latch = (await bench.service()).getCountDownLatch('a');
    await latch.trySetCount(3, { expire: 500 });
    expect(await bench.redis.admin.pttl(KEY)).toBeLessThanOrEqual(500);
    await eventually(async () => (await bench.redis.admin.pttl(KEY)) < 300);
    await latch.countDown();
    expect(await bench.redis.admin.pttl(KEY)).toBeGreaterThan(400);
    expect(await eventually(async () => (await latch.getCount()) === 0)).toBe(true);
    expect(await latch.trySetCount(1)).toBe(true);
    expect(await bench.redis.admin.pttl(KEY)).toBeGreaterThan(86_000_000);
    expect(await bench.redis.admin.pttl(KEY)).toBeLessThanOrEqual(86_400_000);
  });

  it('costs as much for a thousand waiters of a process as for one', async () => {
    const [service, other] = await bench.pair();
    const latch = service.getCountDownLatch('a');
    await latch.trySetCount(1);
    await latch.getCount();
    await bench.redis.resetCommandStats();
    const waiting = Array.from({ length: 1_000 }, () =>
      service.getCountDownLatch('a').await({ waitTimeout: Infinity }),
    );
    await untilRegistered(1);
    await latch.getCount();
    const { evalsha = 0, eval: asText = 0 } = await bench.redis.commandStats();
    // One for the first, one for all that asked while that was on its way, and the one of this test.
    expect(evalsha + asText).toBeLessThanOrEqual(3);
    const since = performance.now();
    await other.getCountDownLatch('a').countDown();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
    expect(performance.now() - since).toBeLessThan(AT_ONCE);
    expect(watched(service)).toBe(0);
  });
});

it('a latch at shutdown ends all waits with an error, and refuses new ones', async () => {
  const service = await bench.service();
  const latch = service.getCountDownLatch('a');
  await latch.trySetCount(2);
  const waiting = timed(() => latch.await({ waitTimeout: Infinity }));
  await untilRegistered(1);
  service.stopWaiting();
  expect((await waiting).error).toEqual(lockError('LOCK_STORE', /shutting down/));
  expect((await timed(() => latch.await())).error).toMatchObject({ code: 'LOCK_STORE' });
  // Requests are still in flight then, and their effects count.
  expect(await latch.countDown()).toBe(1);
});

describe('a latch and a failing Redis', () => {
  it('opens without memory, but a new latch is refused', async () => {
    const [latch, other] = (await bench.serviceList(2)).map((service) => service.getCountDownLatch('a')) as [
      CountDownLatch,
      CountDownLatch,
    ];
    await other.trySetCount(2);
    await bench.redis.withoutMemory(async () => {
      const waiting = latch.await({ waitTimeout: Infinity });
      await untilRegistered(1);
      expect(await latch.countDown()).toBe(1);
      expect(await latch.countDown()).toBe(0);
      expect(await waiting).toBe(true);
      const { error } = await timed(() => latch.trySetCount(1));
      expect(error).toEqual(lockError('LOCK_STORE', /out of memory/));
      expect(await latch.getCount()).toBe(0);
    });
  });

  it.each(['latch', 'counted'])('does not touch foreign data at %s', async (role) => {
    const latch = (await bench.service()).getCountDownLatch('a');
    await bench.redis.admin.set(`lock:${role}:{a}`, 'mine', 'PX', 60_000);
    const { error } = await timed(() => latch.trySetCount(1));
    expect(error).toEqual(lockError('LOCK_STORE', /keyPrefix/));
    expect(await bench.redis.admin.get(`lock:${role}:{a}`)).toBe('mine');
    expect(await bench.redis.admin.dbsize()).toBe(1);
  });

  it('does not touch a foreign hash at its key', async () => {
    const latch = (await bench.service()).getCountDownLatch('a');
    await bench.redis.admin.hset(KEY, 'mine', 1);
    await bench.redis.admin.pexpire(KEY, 60_000);
    const calls: Array<() => Promise<unknown>> = [
      () => latch.trySetCount(1),
      () => latch.countDown(),
      () => latch.await(),
    ];
    for (const call of calls) {
      expect((await timed(call)).error).toMatchObject({ code: 'LOCK_STORE' });
    }
    expect(await bench.redis.admin.hgetall(KEY)).toEqual({ mine: '1' });
  });
});
