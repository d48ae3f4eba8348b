import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import { LockBench, eventually } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

describe('a semaphore', () => {
  it('refuses to release a permit that it does not hold, or no longer holds', async () => {
    const service = await bench.service();
    const [semaphore, twin] = [service.getSemaphore('s', { permits: 2 }), service.getSemaphore('s', { permits: 2 })];
    const other = service.getSemaphore('t', { permits: 2 });
    const refused = { code: 'LOCK_NOT_HELD', key: 's' };
    const mine = await semaphore.acquire();
    const foreign = [await other.acquire(), await service.acquire('u')];
    for (const handle of foreign) {
      await expect(semaphore.release(handle)).rejects.toMatchObject(refused);
      expect(handle.isHeld).toBe(true);
    }
    await expect(semaphore.release({ isHeld: true, release: async () => true } as LockHandle)).rejects.toMatchObject(
      refused,
    );
    await expect(semaphore.release(undefined as never)).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    // Any code that has the handle may release it, through any object of the key.
    await twin.release(mine);
    await expect(semaphore.release(mine)).rejects.toMatchObject(refused);
    expect(await semaphore.availablePermits()).toBe(2);
    await semaphore.release(await service.acquire('s', { permits: 2 }));

    const lapsed = (await semaphore.tryAcquire(1, 0, 300))!;
    await eventually(() => !lapsed.isHeld);
    await expect(semaphore.release(lapsed)).rejects.toMatchObject(refused);
  });

  it('acquire, tryAcquire and run take units of the permits', async () => {
    const service = await bench.service();
    const options = { permits: 5, units: 2 };
    const free = () => service.getSemaphore('s', { permits: 5 }).availablePermits();
    await using _first = await service.acquire('s', options);
    expect(await free()).toBe(3);
    await service.run(
      's',
      async () => {
        expect(await free()).toBe(1);
        expect(await service.tryAcquire('s', options)).toBeNull();
        await using last = await service.tryAcquire('s', { ...options, units: 1 });
        expect(last).not.toBeNull();
        expect(await free()).toBe(0);
      },
      options,
    );
    expect((await service.inspect('s'))!.holders).toMatchObject([{ kind: 'permits', units: 2 }]);
  });

  it('refuses numbers of permits that make no sense', async () => {
    const service = await bench.service();
    const refused = { code: 'LOCK_CONFIG' };
    for (const permits of [0, -1, 1.5, NaN, Infinity, '3', Number.MAX_SAFE_INTEGER]) {
      expect(() => service.getSemaphore('s', { permits: permits as number })).toThrow(expect.objectContaining(refused));
      await expect(service.acquire('s', { permits: permits as number })).rejects.toMatchObject(refused);
      await expect(service.getSemaphore('s', { permits: 3 }).acquire(permits as number)).rejects.toMatchObject(refused);
    }
    const semaphore = service.getSemaphore('s', { permits: 3 });
    await expect(semaphore.acquire(4)).rejects.toMatchObject(refused);
    for (const permits of [-1, 1.5, NaN, Infinity, Number.MAX_SAFE_INTEGER]) {
      await expect(semaphore.setPermits(permits)).rejects.toMatchObject(refused);
    }
    await expect(semaphore.addPermits(-Number.MAX_SAFE_INTEGER)).rejects.toMatchObject(refused);
    await expect(service.acquire('s', { permits: 2, kind: 'read' })).rejects.toMatchObject(refused);
    expect(await semaphore.availablePermits()).toBe(3);
  });

  it('counts with as many permits as an application may ask for', async () => {
    const semaphore = (await bench.service()).getSemaphore('s', { permits: 3 });
    await semaphore.setPermits(1e15);
    expect(await semaphore.addPermits(1e15)).toBe(2e15);
    await using all = await semaphore.drainPermits();
    expect([all?.units, await semaphore.getPermits(), await semaphore.availablePermits()]).toEqual([2e15, 2e15, 0]);
  });

  it('holds permits while the task of run runs, even if it fails, and does not re-enter', async () => {
    const service = await bench.service();
    const semaphore = service.getSemaphore('s', { permits: 3 });
    const value = await semaphore.run(
      async (handle) => {
        expect(handle.isHeld).toBe(true);
        expect(await semaphore.availablePermits()).toBe(1);
        expect(await semaphore.tryAcquire(2)).toBeNull();
        return semaphore.run(async () => `inner, ${await semaphore.availablePermits()} free`);
      },
      { units: 2 },
    );
    expect(value).toBe('inner, 0 free');
    await expect(semaphore.run(() => Promise.reject(new Error('task')))).rejects.toThrow('task');
    expect(await semaphore.availablePermits()).toBe(3);
  });

  it('excludes locks of other kinds on the same key', async () => {
    const [one, other] = await bench.pair();
    const semaphore = one.getSemaphore('s', { permits: 3 });
    const permit = await semaphore.acquire();
    expect(await other.tryAcquire('s')).toBeNull();
    expect(await other.tryAcquire('s', { kind: 'read' })).toBeNull();
    await permit.release();
    for (const type of ['read', 'write'] as const) {
      const lock = await other.acquire('s', { kind: type });
      expect(await semaphore.tryAcquire()).toBeNull();
      expect(await semaphore.availablePermits()).toBe(0);
      await lock.release();
    }
    expect(await semaphore.availablePermits()).toBe(3);
  });
});
