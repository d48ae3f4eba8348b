import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { DefaultLock } from '../../../lib/service/objects/default-lock.js';
import type { OwnHandle } from '../../../lib/service/handles/own-handle.js';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { aborted, LockBench } from '../../../lab/testbed/locks/locks.js';

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
      forceRelease: async () => true,
      survey: () => Promise.reject(new Error('not asked')),
      inScope: () => undefined,
      ofOwner: () => [],
      lease: 30_000,
    };
    const lock = new DefaultLock(service, {
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

  it('uses the hold of the scope, and re-enters it', async () => {
    const [service, other] = await bench.serviceList(2);
    await service!.run('a', async (outer) => {
      const lock = service!.getLock('a');
      expect([lock.isHeldByCurrentContext(), lock.getHoldCount()]).toEqual([true, 1]);
      await lock.lock();
      await lock.lock();
      expect([lock.getHoldCount(), outer.holdCount]).toEqual([3, 3]);
      await lock.unlock();
      await lock.unlock();
      expect([lock.getHoldCount(), outer.holdCount, outer.isHeld]).toEqual([1, 1, true]);
      expect(await other!.tryAcquire('a')).toBeNull();
    });
    expect(service!.getLock('a').isHeldByCurrentContext()).toBe(false);
  });
});

describe('a Lock object with an owner', () => {
  it('re-enters across objects, contexts, services and processes', async () => {
    const [here, there, process] = [await bench.service(), await bench.service(), await bench.worker()];
    const [one, same, remote] = [
      here.getLock('a', { owner: 'job-7' }),
      here.getLock('a', { owner: 'job-7' }),
      there.getLock('a', { owner: 'job-7' }),
    ];
    await one.lock();
    await same.lock();
    expect([one.getHoldCount(), same.getHoldCount(), remote.getHoldCount()]).toEqual([2, 2, 0]);
    await remote.lock();
    const theirs = await process.acquire('a', { owner: 'job-7', waitTimeout: 0 });
    expect((await here.inspect('a'))?.holds).toBe(4);
    expect(await there.getLock('a', { owner: 'job-8' }).tryLock()).toBeNull();

    await remote.unlock();
    await one.unlock();
    await same.unlock();
    expect(await here.tryAcquire('a')).toBeNull(); // until the last one has gone
    await process.release(theirs);
    expect(await here.tryAcquire('a')).not.toBeNull();
  });

  it('has one entry in Redis for each hold, each with its own lease', async () => {
    const [here, there] = await bench.serviceList(2);
    const short = await here!.acquire('a', { owner: 'me', expire: 700 });
    const long = await there!.acquire('a', { owner: 'me', expire: '5s' });
    const info = await here!.inspect('a');
    expect(info).toMatchObject({ owner: 'me', holds: 2, holders: [{ owner: 'me' }, { owner: 'me' }] });
    expect(new Set(info!.holders.map(({ client }) => client)).size).toBe(2);
    expect(info!.ttl).toBeGreaterThan(1_000);

    expect(await aborted(short.signal)).toMatchObject({ code: 'LOCK_LOST' });
    await eventually(async () => (await here!.inspect('a'))?.holds === 1);
    await long.verify();
    expect(await there!.getLock('a', { owner: 'me' }).isLocked()).toBe(true);
    expect(await here!.tryAcquire('a', { owner: 'you' })).toBeNull();
    await long.release();
    expect(await here!.inspect('a')).toBeNull();
  });

  it('passes waiters, as re-entry must', async () => {
    const [here, there] = await bench.serviceList(2);
    const first = await here!.acquire('a', { owner: 'me' });
    const waiting = there!.acquire('a');
    await bench.untilWaiting('a', 1);
    const second = await here!.acquire('a', { owner: 'me', waitTimeout: 0 });
    await first.release();
    await second.verify();
    await second.release();
    expect((await waiting).isHeld).toBe(true);
  });

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
