import { type LockLostError, type LockHandle } from 'nestjs-redis-locks/client';
import { aborted, AT_ONCE, LockBench, timed } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
const LOST = expect.objectContaining({ code: 'LOCK_LOST', key: 'a' });

describe('a handle', () => {
  it('shows its key and the rest of its lease', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a', { expire: '10s' });
    expect(lock).toMatchObject({ key: 'a', keys: ['a'], isHeld: true, holdCount: 1 });
    expect(lock.owner).not.toBe('');
    expect(lock.fencingTokens).toEqual(new Map([['a', lock.fencingToken]]));
    expect(lock.signal.aborted).toBe(false);
    // Less than Redis keeps it, by 1 % and 2 ms.
    expect(lock.remainingTime()).toBeLessThanOrEqual(9_898);
    expect(lock.remainingTime()).toBeGreaterThan(9_898 - AT_ONCE);
    lock.assertHeld();
    await lock.verify();
  });

  it('ends with release(), which may be called again', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a');
    expect(await lock.release()).toBe(true);
    expect(await lock.release()).toBe(true);
    expect(lock).toMatchObject({ isHeld: false, holdCount: 0 });
    expect(lock.remainingTime()).toBe(0);
    expect(() => lock.assertHeld()).toThrow(LOST);
    await expect(lock.verify()).rejects.toEqual(LOST);
    await expect(lock.extend('1s')).rejects.toEqual(LOST);
    expect(lock.signal.aborted).toBe(false); // it was released, not lost
  });

  it('ends separately from others of the same hold', async () => {
    const service = await bench.service();
    await service.run('a', async (outer) => {
      const inner = await service.acquire('a');
      await inner.release();
      expect([inner.isHeld, inner.holdCount, outer.isHeld, outer.holdCount]).toEqual([false, 0, true, 1]);
      expect(() => inner.assertHeld()).toThrow(LOST);
      await expect(inner.verify()).rejects.toEqual(LOST);
      expect(await inner.release()).toBe(true);
      expect(outer.holdCount).toBe(1);
    });
  });

  it('is released by `await using`, even if the block throws', async () => {
    const service = await bench.service();
    {
      await using lock = await service.acquire('a');
      expect(lock.isHeld).toBe(true);
    }
    expect(await service.inspect('a')).toBeNull();
    const block = async () => {
      await using _lock = await service.acquire('a');
      throw new Error('the business failed');
    };
    await expect(block()).rejects.toThrow('the business failed');
    expect(await service.inspect('a')).toBeNull();
  });

  it('does not make `await using` throw after a loss', async () => {
    const [service, other] = await bench.pair();
    {
      await using lock = await service.acquire('a');
      await other.forceRelease('a');
      await aborted(lock.signal);
    }
    expect(await service.inspect('a')).toBeNull();
  });
});

describe('the loss of a lock', () => {
  it('is no error of run with onLost: ignore', async () => {
    const [service, other] = await bench.pair();
    const task = async () => {
      await other.forceRelease('a');
      return 'value';
    };
    expect(await service.run('a', task, { onLost: 'ignore' })).toBe('value');
  });

  it.each<[string, (error: LockLostError) => unknown, boolean]>([
    ['returns', () => 'another value', false],
    ['throws', () => { throw new Error('the listener failed'); }, false], // prettier-ignore
    ['rejects', async () => { throw new Error('the listener failed'); }, false], // prettier-ignore
    ['is in the defaults', () => undefined, true],
  ])('is the error of run beside a listener that %s', async (_, listener, isDefault) => {
    const told: unknown[] = [];
    const onLost = (error: LockLostError): unknown => {
      told.push(error);
      return listener(error);
    };
    const [service, other] = await bench.pair(isDefault ? { defaults: { onLost } } : {});
    const task = async (lock: LockHandle) => {
      await other.forceRelease('a');
      await aborted(lock.signal);
      return 'value';
    };
    const { error } = await timed(() => service.run('a', task, isDefault ? {} : { onLost }));
    expect(error).toEqual(LOST);
    expect((error as LockLostError).result).toBe('value');
    expect(told).toEqual([LOST]);
  });
});
