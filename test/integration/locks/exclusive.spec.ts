import { describe, expect, it } from '@jest/globals';
import { isLockTimeoutError } from 'nestjs-redis-locks/client';
import { aborted, LockBench, timed } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

describe('the exclusive lock', () => {
  it('reports a loss at unlock after its lease', async () => {
    const service = await bench.service();
    const lock = service.getLock('a');
    const handle = await lock.lock({ expire: 300 });
    await aborted(handle.signal);
    const next = await service.acquire('a');
    await expect(lock.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    await next.verify();
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

  it('has different errors for a timeout, a failure of Redis and a loss', async () => {
    const service = await bench.service();
    const held = await service.acquire('a', { expire: 500 });
    const { error: timeout } = await timed(() => service.acquire('a', { waitTimeout: 0 }));
    expect([isLockTimeoutError(timeout), timeout.code]).toEqual([true, 'LOCK_TIMEOUT']);
    expect(await aborted(held.signal)).toMatchObject({ code: 'LOCK_LOST' });
    expect(() => held.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }));
  });
});
