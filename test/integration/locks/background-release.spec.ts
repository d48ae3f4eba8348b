import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import { AT_ONCE, between, inTurn, LockBench, eventually, now } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

const BACKGROUND = { release: 'background' } as const;
/** Local handoffs end by their number, not by the time that a busy machine takes. */
const UNHURRIED = { localHandoffTime: '30s', grantTimeout: '10m', renewedLease: '10m' } as const;

describe("release: 'background'", () => {
  it('is the default of an instance, and a call can ask for the other', async () => {
    const { proxy, service } = await bench.proxied({ defaults: BACKGROUND });
    await service.run('warm', () => undefined);
    expect(await service.run('a', () => proxy.delay({ reply: 300 }))).toBeUndefined();
    const since = now();
    await service.run('b', () => undefined);
    // One answer; with the release there would be two.
    expect(between(since)).toBeGreaterThan(250);
    const awaited = now();
    await service.run('c', () => undefined, { release: 'awaited' });
    expect(between(awaited)).toBeGreaterThan(550);
    proxy.heal();
    await bench.untilNothingIsLeft();
  });

  it.each([
    ['a release in the background', BACKGROUND, 0],
    ['another reader beside them', {}, 1],
  ])('readers that call again and again leave the event loop to others: with %s', async (_, options, others) => {
    const service = await bench.service(UNHURRIED);
    for (let i = 0; i < others; i++) await service.acquire('a', { kind: 'read' });
    await service.run('a', () => undefined, { kind: 'read' });
    let isOver = false;
    setTimeout(() => (isOver = true), 1);
    let calls = 0;
    while (!isOver && calls < 100_000) {
      await service.run('a', () => undefined, { ...options, kind: 'read' });
      calls += 1;
    }
    expect(isOver).toBe(true);
  });

  it('other processes get the lock after localHandoffTime, however often this one asks', async () => {
    const service = await bench.service({ localHandoffTime: '20ms' });
    const worker = await bench.worker();
    let isOver = false;
    const loop = (async () => {
      while (!isOver) await service.run('a', async () => undefined, { ...BACKGROUND, waitTimeout: Infinity });
    })();
    // A loop without I/O never leaves the event loop between two handoffs, so this one has to end its turns in Redis.
    const waits = inTurn(5, async () => {
      const since = now();
      const handle = await worker.acquire('a', { waitTimeout: '30s' });
      const waited = between(since);
      await worker.release(handle);
      return waited;
    });
    await waits.finally(() => (isOver = true));
    await loop;
    expect(Math.min(...(await waits))).toBeLessThan(AT_ONCE);
  });

  it('a loss that the client knows of before the release is a rejection', async () => {
    const service = await bench.service();
    const task = async ({ signal }: LockHandle): Promise<string> => {
      await service.forceRelease('a');
      await eventually(() => signal.aborted);
      return 'value';
    };
    await expect(service.run('a', task, BACKGROUND)).rejects.toMatchObject({ code: 'LOCK_LOST', result: 'value' });
  });

  it('the caller gets the error of the work, and the lock is free', async () => {
    const service = await bench.service();
    const failure = new Error('of the business');
    await expect(service.run('a', () => Promise.reject(failure), BACKGROUND)).rejects.toBe(failure);
    await bench.untilNothingIsLeft();
  });

  it('goes for several keys, shared locks, permits and holdAtLeast', async () => {
    const service = await bench.service();
    const several = ['a', 'b'];
    await service.run(several, () => undefined, BACKGROUND);
    await service.run('c', () => undefined, { ...BACKGROUND, kind: 'read' });
    await service.run('d', () => undefined, { ...BACKGROUND, permits: 2 });
    await bench.untilNothingIsLeft();
    await service.run('e', () => undefined, { ...BACKGROUND, holdAtLeast: '10m' });
    expect(await service.tryAcquire('e')).toBeNull();
    await service.forceRelease('e');
  });

  it('leaves a hold that an outer call has taken to the outer call', async () => {
    const service = await bench.service();
    await service.run('a', async (outer) => {
      await service.run('a', () => undefined, BACKGROUND);
      await new Promise((resolve) => setImmediate(resolve));
      await outer.verify();
      expect(outer.holdCount).toBe(1);
    });
  });

  it('leaves a lock alone that the task has released and acquired again', async () => {
    const service = await bench.service();
    let second: LockHandle | undefined;
    await service.run(
      'a',
      async (lock) => {
        await lock.release();
        second = await service.acquire('a');
      },
      BACKGROUND,
    );
    await new Promise((resolve) => setImmediate(resolve));
    await second!.verify();
    expect(await second!.release()).toBe(true);
  });
});
