import { describe, expect, it } from '@jest/globals';
import { isLockNotHeldError, isLockTimeoutError } from 'nestjs-redis-locks/client';
import { aborted, AT_ONCE, LockBench, timed } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

describe('the exclusive lock', () => {
  it('is acquired, released and acquired again, and no other client gets it in the meantime', async () => {
    const [here, there, process] = [await bench.service(), await bench.service(), await bench.worker()];
    for (let round = 0; round < 2; round++) {
      const lock = await here.acquire('a');
      expect(await here.tryAcquire('a')).toBeNull();
      expect(await there.tryAcquire('a')).toBeNull();
      expect(await process.tryAcquire('a')).toBeNull();
      await expect(there.acquire('a', { waitTimeout: 100 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT', key: 'a' });
      expect(await lock.release()).toBe(true);
    }
    const theirs = await process.tryAcquire('a');
    expect(theirs).not.toBeNull();
    expect(await here.tryAcquire('a')).toBeNull();
  });

  it('does not affect other keys', async () => {
    const [one, other] = [await bench.service(), await bench.service()];
    await one.acquire('a');
    expect(await other.tryAcquire('b')).not.toBeNull();
    expect(await (await bench.service({ keyPrefix: 'elsewhere' })).tryAcquire('a')).not.toBeNull();
  });

  it('counts holds 0, 1, 2, 1, 0, and is free after the last', async () => {
    const [here, there] = [await bench.service(), await bench.service()];
    const lock = here.getLock('a', { owner: 'me' });
    const counts = [lock.getHoldCount()];
    await lock.lock();
    counts.push(lock.getHoldCount());
    await lock.lock();
    counts.push(lock.getHoldCount());
    await lock.unlock();
    counts.push(lock.getHoldCount());
    expect(await there.tryAcquire('a')).toBeNull();
    await lock.unlock();
    counts.push(lock.getHoldCount());
    expect(counts).toEqual([0, 1, 2, 1, 0]);
    expect(await there.tryAcquire('a')).not.toBeNull();
  });

  it('counts holds of a scope 1, 2, 3, 2, 1', async () => {
    const [here, there] = [await bench.service(), await bench.service()];
    const counts: number[] = [];
    await here.run('a', async (outer) => {
      counts.push(outer.holdCount);
      const second = await here.acquire('a');
      counts.push(outer.holdCount);
      await here.run('a', async (third) => void counts.push(third.holdCount));
      counts.push(second.holdCount);
      expect(await second.release()).toBe(true);
      counts.push(outer.holdCount, second.holdCount);
      expect(await there.tryAcquire('a')).toBeNull();
    });
    expect(counts).toEqual([1, 2, 3, 2, 1, 0]);
    expect(await there.tryAcquire('a')).not.toBeNull();
  });

  it('cannot be released by a client that does not hold it', async () => {
    const [here, there] = [await bench.service(), await bench.service()];
    const held = await here.acquire('a', { owner: 'me' });
    for (const stranger of [
      here.getLock('a'),
      there.getLock('a'),
      here.getLock('a', { owner: 'you' }),
      there.getLock('a', { owner: 'me' }), // the owner holds it, but not here
    ]) {
      const { error } = await timed(() => stranger.unlock());
      expect(isLockNotHeldError(error)).toBe(true);
      expect(error).toMatchObject({ code: 'LOCK_NOT_HELD', key: 'a' });
    }
    await held.verify();
    expect(await there.tryAcquire('a')).toBeNull();
  });

  it('does not affect the next holder by a release after its lease', async () => {
    const [late, next] = [await bench.service(), await bench.service()];
    const first = await late.acquire('a', { expire: 300 });
    const second = await next.acquire('a');
    expect(first.isHeld).toBe(false);
    expect(await first.release()).toBe(false);
    await second.verify();
    expect(await next.inspect('a')).toMatchObject({ owner: second.owner, holds: 1 });
  });

  it('reports a loss at unlock after its lease', async () => {
    const service = await bench.service();
    const lock = service.getLock('a');
    const handle = await lock.lock({ expire: 300 });
    await aborted(handle.signal);
    const next = await service.acquire('a');
    await expect(lock.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    await next.verify();
  });

  it('becomes free by forceRelease, which notifies its holder and wakes a waiter', async () => {
    const [here, there, process] = [await bench.service(), await bench.service(), await bench.worker()];
    const former = await process.acquire('a');
    const next = there.acquire('a');
    await bench.untilWaiting('a', 1);

    expect(await here.forceRelease('a')).toBe(true);
    await process.lost(former);
    expect(await process.look(former)).toEqual({ isHeld: false, holdCount: 0, aborted: true });
    expect((await next).isHeld).toBe(true);
    expect(await process.release(former)).toBe(false);
    await (await next).verify();
  });

  it('loses all holds of an owner by forceUnlock, which the reason says', async () => {
    const [here, there] = [await bench.service(), await bench.service()];
    const holds = [await here.acquire('a', { owner: 'me' }), await there.acquire('a', { owner: 'me' })];
    expect(await there.getLock('a').forceUnlock()).toBe(true);
    for (const { signal } of holds) {
      expect(await aborted(signal)).toMatchObject({
        code: 'LOCK_LOST',
        key: 'a',
        message: expect.stringContaining('by force'),
      });
    }
    expect(await here.inspect('a')).toBeNull();
    expect(await there.getLock('a').forceUnlock()).toBe(false);
    expect(await here.forceRelease('b')).toBe(false);
  });

  it('returns the rest of its lease, and -2 if it is free', async () => {
    const [here, there] = [await bench.service(), await bench.service({ renewedLease: '20s' })];
    const lock = there.getLock('a');
    expect(await lock.remainTimeToLive()).toBe(-2);
    const fixed = await here.acquire('a', { expire: '5s' });
    expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(5_000);
    expect(await lock.remainTimeToLive()).toBeGreaterThan(5_000 - AT_ONCE);
    expect(fixed.remainingTime()).toBeLessThanOrEqual(await lock.remainTimeToLive());
    await fixed.release();
    expect(await lock.remainTimeToLive()).toBe(-2);
    await lock.lock();
    expect(await lock.remainTimeToLive()).toBeLessThanOrEqual(20_000);
    expect(await lock.remainTimeToLive()).toBeGreaterThan(20_000 - AT_ONCE);
  });

  it('has different errors for a timeout, a failure of Redis and a loss', async () => {
    const service = await bench.service();
    const held = await service.acquire('a', { expire: 500 });
    const { error: timeout } = await timed(() => service.acquire('a', { waitTimeout: 0 }));
    expect([isLockTimeoutError(timeout), timeout.code]).toEqual([true, 'LOCK_TIMEOUT']);
    expect(await aborted(held.signal)).toMatchObject({ code: 'LOCK_LOST' });
    expect(() => held.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }));
  });
});
