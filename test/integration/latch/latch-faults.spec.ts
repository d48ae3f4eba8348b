import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench, timed } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const KEY = 'lock:latch:{a}';

const untilRegistered = (count: number): Promise<unknown> =>
  eventually(
    async () =>
      Object.keys(await bench.redis.admin.hgetall(KEY)).filter((field) => field.startsWith('client:')).length === count,
  );

/** Two clients, the first of which comes through a proxy; the server knows all scripts. */
async function setUp() {
  const proxy = await bench.proxy();
  const [service, direct] = [
    await bench.service({ connection: proxy.url, commandTimeout: 1_500 }),
    await bench.service(),
  ];
  const [latch, other] = [service.getCountDownLatch('a'), direct.getCountDownLatch('a')];
  await other.trySetCount(1);
  await other.countDown();
  await other.getCount();
  await bench.redis.admin.del('lock:counted:{a}');
  return { proxy, service, latch, other };
}

describe('a latch with lost commands and replies', () => {
  it('works with an empty script cache', async () => {
    const { latch, other } = await setUp();
    for (const step of [
      () => latch.trySetCount(2),
      () => latch.getCount(),
      () => latch.countDown(),
      () => other.countDown(),
    ]) {
      await bench.redis.admin.script('FLUSH', 'SYNC');
      await step();
    }
    expect(await other.getCount()).toBe(0);
  });
});

describe('a latch and a failing Redis', () => {
  it('opens without memory, but a new latch is refused', async () => {
    const { latch, other } = await setUp();
    await other.trySetCount(2);
    await bench.redis.admin.config('SET', 'maxmemory', '1');
    try {
      const waiting = latch.await({ waitTimeout: Infinity });
      await untilRegistered(1);
      expect(await latch.countDown()).toBe(1);
      expect(await latch.countDown()).toBe(0);
      expect(await waiting).toBe(true);
      const { error } = await timed(() => latch.trySetCount(1));
      expect(error).toMatchObject({ code: 'LOCK_STORE', message: expect.stringMatching(/out of memory/) });
      expect(await latch.getCount()).toBe(0);
    } finally {
      await bench.redis.admin.config('SET', 'maxmemory', '0');
    }
  });

  it.each(['latch', 'counted'])('does not touch foreign data at %s', async (role) => {
    const latch = (await bench.service()).getCountDownLatch('a');
    await bench.redis.admin.set(`lock:${role}:{a}`, 'mine', 'PX', 60_000);
    const { error } = await timed(() => latch.trySetCount(1));
    expect(error).toMatchObject({ code: 'LOCK_STORE', message: expect.stringMatching(/keyPrefix/) });
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
