import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { DefaultLock } from '../../../lib/service/objects/default-lock.js';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { OwnerHandles } from '../../../lib/service/handles/owner-handles.js';
import type { OwnHandle } from '../../../lib/service/handles/held-locks.js';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

describe('a Lock object', () => {
  it('returns handles that print without internals of the engine', async () => {
    const service = await bench.service();
    const handle = await service.getLock('a').lock();
    const { owner, fencingToken } = handle;
    expect(JSON.parse(JSON.stringify({ handle }))).toEqual({
      handle: { key: 'a', owner, fencingToken, isHeld: true },
    });
    const printed = inspect({ handle }, { depth: 5, breakLength: Infinity });
    expect(printed).toBe(
      `{ handle: LockHandle { key: 'a', owner: '${owner}', fencingToken: ${fencingToken}, isHeld: true } }`,
    );
    await handle.release();
    expect(inspect(handle)).toMatch(/isHeld: false/);
  });

  it('forgets its handles at forceUnlock(), before the holds are notified', async () => {
    const deaf = { isHeld: true, holdCount: 1 } as OwnHandle;
    const service = {
      acquire: async () => deaf,
      tryAcquire: async () => deaf,
      inScope: () => undefined,
      owners: new OwnerHandles(),
    };
    const engine = {
      forceRelease: async () => ({ holds: 1 }),
      survey: () => Promise.reject(new Error('not asked')),
    };
    const lock = new DefaultLock(service, engine as unknown as LockEngine, 30_000, {
      keys: ['a'],
      kind: 'exclusive',
      fair: false,
      owner: undefined,
      pattern: undefined,
    });
    await lock.lock();
    expect(lock.getHoldCount()).toBe(1);
    expect(await lock.forceUnlock()).toBe(true);
    expect([lock.isHeldByCurrentContext(), lock.getHoldCount()]).toEqual([false, 0]);
    await expect(lock.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
  });
});

describe('a Lock object with an owner', () => {
  it('releases the latest hold first at unlock(), and the earlier one stays', async () => {
    const service = await bench.service();
    const lock = service.getLock('a', { owner: 'me' });
    const [first, second] = [await lock.lock(), await lock.lock()];
    await lock.unlock();
    expect([first.isHeld, second.isHeld]).toEqual([true, false]);
    await lock.unlock();
    await expect(lock.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
  });

  it('serves two waiters of one owner together', async () => {
    const [here, there] = await bench.serviceList(2);
    const lock = await here!.acquire('a');
    const both = [there!.acquire('a', { owner: 'me' }), there!.acquire('a', { owner: 'me' })];
    await bench.untilWaiting('a', 2);
    await lock.release();
    expect((await Promise.all(both)).map(({ isHeld }) => isHeld)).toEqual([true, true]);
  });

  it('keeps overlapping contexts apart, like threads of one name', async () => {
    const service = await bench.service();
    const end = deferred();
    const other = service.run('a', () => end, { owner: 'me' });
    const inside = await service.run('a', (lock) => lock.holdCount, { owner: 'me' });
    expect(inside).toBe(2);
    expect(await service.tryAcquire('a')).toBeNull();
    end.resolve();
    await other;
    expect(await service.tryAcquire('a')).not.toBeNull();
  });
});
