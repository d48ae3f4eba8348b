import { describe, expect, it } from '@jest/globals';
import type { LockObject, LockService } from 'nestjs-redis-locks';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

interface Shape {
  readonly kind: string;
  readonly make: (service: LockService, owner?: string) => LockObject;
  /** Whether two may have it at the same time. */
  readonly shared?: boolean;
}

const own = (owner?: string) => (owner === undefined ? {} : { owner });
const SHAPES: readonly Shape[] = [
  { kind: 'getLock', make: (service, owner) => service.getLock('a', own(owner)) },
  { kind: 'getFairLock', make: (service, owner) => service.getFairLock('a', own(owner)) },
  { kind: 'readLock', make: (service, owner) => service.getReadWriteLock('a', own(owner)).readLock(), shared: true },
  { kind: 'writeLock', make: (service, owner) => service.getReadWriteLock('a', own(owner)).writeLock() },
  { kind: 'getMultiLock', make: (service, owner) => service.getMultiLock(['a', 'b'], own(owner)) },
];

describe.each(SHAPES)('the RLock shape of $kind', ({ make, shared = false }) => {
  it('returns what RLock returns before, while and after it is held', async () => {
    const [one, other] = await bench.serviceList(2);
    const [lock, theirs] = [make(one!), make(other!)];
    expect(lock.key).toBe('a');
    const nothing = [false, 0, false, -2];
    const told = async (
      { isHeldByCurrentContext, getHoldCount, isLocked }: LockObject,
      of: LockObject,
    ): Promise<unknown[]> => [isHeldByCurrentContext.call(of), getHoldCount.call(of), await isLocked.call(of)];
    expect([...(await told(lock, lock)), await lock.remainTimeToLive()]).toEqual(nothing);

    const handle = await lock.lock();
    expect(handle).toMatchObject({ isHeld: true, holdCount: 1 });
    expect(await told(lock, lock)).toEqual([true, 1, true]);
    expect(await told(theirs, theirs)).toEqual([false, 0, true]);
    for (const object of [lock, theirs]) {
      expect(await object.remainTimeToLive()).toBeGreaterThan(29_000);
      expect(await object.remainTimeToLive()).toBeLessThanOrEqual(30_000);
      expect(await object.isHeldBy(handle.owner)).toBe(true);
      expect(await object.isHeldBy('nobody')).toBe(false);
    }
    expect((await theirs.tryLock()) !== null).toBe(shared);
    if (shared) await theirs.unlock();
    await expect(theirs.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD', key: 'a' });
    await handle.verify();

    expect(await lock.unlock()).toBeUndefined();
    expect(handle.isHeld).toBe(false);
    expect([...(await told(lock, lock)), await lock.remainTimeToLive()]).toEqual(nothing);
    await expect(lock.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD', key: 'a' });
    expect(await lock.forceUnlock()).toBe(false);
    await bench.untilNothingIsLeft();
  });

  it('counts the holds of an owner: 0, 1, 2, 1, 0', async () => {
    const [one, other] = await bench.serviceList(2);
    const lock = make(one!, 'me');
    const counts = [lock.getHoldCount()];
    const steps = [() => lock.lock(), () => lock.tryLock(), () => lock.unlock(), () => lock.unlock()];
    for (const step of steps) {
      await step();
      counts.push(lock.getHoldCount());
      expect(await make(other!).isLocked()).toBe(counts.at(-1)! > 0);
      expect(await make(other!).isHeldBy('me')).toBe(counts.at(-1)! > 0);
    }
    expect(counts).toEqual([0, 1, 2, 1, 0]);
    await expect(lock.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    await bench.untilNothingIsLeft();
  });

  it('lock() accepts a signal, and refuses options that make no sense', async () => {
    const [one, other] = await bench.serviceList(2);
    await one!.acquire('a');
    const lock = make(other!);
    await expect(lock.lock({ signal: AbortSignal.timeout(60) })).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(lock.lock({ waitTimeout: 60 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await expect(lock.lock({ expire: 10 })).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    await expect(lock.tryLock(-1)).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    expect(await bench.waiters('a')).toEqual([]);
  });
});

describe('objects of one key beside each other', () => {
  it('the two locks of a read-write lock report their own state', async () => {
    const service = await bench.service();
    const { readLock, writeLock } = service.getReadWriteLock('a');
    const [reading, writing] = [readLock(), writeLock()];
    await reading.lock();
    expect([await reading.isLocked(), await writing.isLocked()]).toEqual([true, false]);
    expect([reading.getHoldCount(), writing.getHoldCount()]).toEqual([1, 0]);
    expect([await writing.remainTimeToLive(), await writing.tryLock()]).toEqual([-2, null]);
    await expect(writing.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    await reading.unlock();
    await writing.lock();
    expect([await reading.isLocked(), await writing.isLocked()]).toEqual([false, true]);
    await writing.unlock();
  });

  it('an object inside run is the lock of that scope, for its kind only', async () => {
    const service = await bench.service();
    const { readLock, writeLock } = service.getReadWriteLock('a');
    await service.run(
      'a',
      async () => {
        expect([readLock().isHeldByCurrentContext(), writeLock().isHeldByCurrentContext()]).toEqual([true, false]);
        expect([readLock().getHoldCount(), writeLock().getHoldCount()]).toEqual([1, 0]);
      },
      { kind: 'read' },
    );
    await service.run('a', async () => {
      expect([readLock().isHeldByCurrentContext(), writeLock().isHeldByCurrentContext()]).toEqual([false, true]);
      await readLock().lock();
      expect([readLock().isHeldByCurrentContext(), writeLock().isHeldByCurrentContext()]).toEqual([true, true]);
      await readLock().unlock();
      expect([readLock().isHeldByCurrentContext(), writeLock().isHeldByCurrentContext()]).toEqual([false, true]);
    });
    await bench.untilNothingIsLeft();
  });
});
