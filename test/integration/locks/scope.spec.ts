import { AsyncResource } from 'node:async_hooks';
import { of } from 'rxjs';
import type { LockService } from 'nestjs-redis-locks';
import { currentLock, findCurrentLock } from 'nestjs-redis-locks/client';
import { Section } from '../../../lab/testbed/locks/section.js';
import { LockBench, deferred, lockError } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

let service: LockService;
beforeEach(async () => {
  service = await bench.service();
});

describe('the scope of a lock', () => {
  it('lets siblings re-enter the lock of their scope together, unless they have their own key', async () => {
    await service.run('a', async () => {
      const both = deferred();
      let inside = 0;
      const together = (): Promise<void> =>
        service.run('a', async () => {
          if (++inside === 2) both.resolve();
          await both;
        });
      await Promise.all([together(), together()]);

      const section = new Section();
      await Promise.all([1, 2, 3].map(() => service.run('a:part', (lock) => section.pass(() => lock.verify()))));
      expect(section).toMatchObject({ most: 1, entries: 3 });

      const waits = service.run('a', async () => 'inside', { reentrant: false, waitTimeout: 50 });
      await expect(waits).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    });
  });

  it('covers a task that a queue starts there, unless it is bound to its caller', async () => {
    const again = () => service.tryAcquire('a');
    const queue = [again, AsyncResource.bind(again)];
    const [unbound, bound] = await service.run('a', () => Promise.all(queue.map((task) => task())));
    expect(unbound).not.toBeNull();
    expect(bound).toBeNull();
  });

  it('is not opened by acquire or lock()', async () => {
    await service.acquire('a');
    expect(await service.tryAcquire('a')).toBeNull();
    await service.getLock('b').lock();
    expect(await service.tryAcquire('b')).toBeNull();
    expect(findCurrentLock()).toBeUndefined();
    expect(() => currentLock()).toThrow(
      /currentLock\(\) was called by code that holds no lock: .*RedisLockTestingModule/,
    );
    expect(() => currentLock('b')).toThrow(expect.objectContaining({ code: 'LOCK_NOT_HELD', key: 'b' }));
  });

  it('is not shared by two calls that start in one tick', async () => {
    const section = new Section();
    await Promise.all([1, 2, 3].map(() => service.run('a', () => section.pass())));
    expect(section).toMatchObject({ most: 1, entries: 3 });
  });

  it('ends for children that outlive it', async () => {
    const other = await bench.service();
    const go = deferred();
    let child!: Promise<unknown>;
    await service.run('a', () => {
      child = go.then(async () => [
        findCurrentLock('a')?.isHeld,
        await service.tryAcquire('a'),
        service.getLock('a').isHeldByCurrentContext(),
      ]);
    });
    await other.acquire('a');
    go.resolve();
    expect(await child).toEqual([false, null, false]);
  });

  it('ends for children when the lock is lost', async () => {
    const other = await bench.service();
    await service.run(
      'a',
      async (lock) => {
        const lost = deferred();
        lock.signal.addEventListener('abort', () => lost.resolve());
        await other.forceRelease('a');
        await lost;
        await other.acquire('a');
        expect(await service.tryAcquire('a')).toBeNull();
      },
      { onLost: 'ignore' },
    );
  });

  it('is ignored with `reentrant: false`', async () => {
    await service.run('a', async () => {
      expect(await service.tryAcquire('a', { reentrant: false })).toBeNull();
      await expect(service.acquire('a', { reentrant: false, waitTimeout: 100 })).rejects.toEqual(
        lockError('LOCK_TIMEOUT', /^'a' is held by this call's own scope, so it can never be granted.*Holder: client /),
      );
      expect(await service.tryAcquire('a', { reentrant: true })).not.toBeNull();
    });
  });

  it('belongs to one service: two services do not share it', async () => {
    const [one, other] = [service, await bench.service()];
    await one.run('a', async () => {
      expect(await other.tryAcquire('a')).toBeNull();
      expect(other.getLock('a').isHeldByCurrentContext()).toBe(false);
    });
  });

  it('of an owner admits that owner, and no other', async () => {
    await service.run(
      'a',
      async () => {
        expect(await service.tryAcquire('a', { owner: 'you' })).toBeNull();
        expect((await service.tryAcquire('a', { owner: 'me' }))?.owner).toBe('me');
        expect((await service.tryAcquire('a'))?.owner).toBe('me');
      },
      { owner: 'me' },
    );
  });

  it('can be nested in that of another key', async () => {
    await service.run('a', () =>
      service.run('b', async (inner) => {
        expect(findCurrentLock()?.fencingToken).toBe(inner.fencingToken);
        expect(findCurrentLock('a')?.key).toBe('a');
        expect(findCurrentLock('c')).toBeUndefined();
        expect(await service.tryAcquire('a')).not.toBeNull();
      }),
    );
    expect(findCurrentLock()).toBeUndefined();
  });

  it('covers a query that starts when it is awaited', async () => {
    let held: boolean | undefined;
    /** As the queries of Prisma, Knex and Mongoose. */
    const query = {
      then(...args: Parameters<Promise<string>['then']>) {
        held = findCurrentLock('a')?.isHeld;
        return service.run('a', () => 'found', { waitTimeout: 0 }).then(...args);
      },
    } as unknown as Promise<string>;
    expect(await service.run('a', () => query)).toBe('found');
    expect(held).toBe(true);
  });
});

describe('a task that does its work after it has returned', () => {
  const later = of(1);

  it.each<[string, () => unknown, RegExp]>([
    ['an Observable', () => later, /^the task of run has returned an Observable.*lastValueFrom/],
    ['an Observable in a promise', async () => later, /^the task of run has returned an Observable/],
    ['a generator in a function', () => (function* () {})(), /^the task of run has returned a generator/],
    [
      'an asynchronous generator in a promise',
      async () => (async function* () {})(),
      /returned a generator.*for await/,
    ],
    ['a generator function', function* () {}, /^run takes a function .*; this is a generator/],
    ['an asynchronous generator function', async function* () {}, /^run takes a function .*; this is a generator/],
  ])('is refused: %s', async (_what, task, message) => {
    const refused = { code: 'LOCK_CONFIG', message: expect.stringMatching(message) };
    await expect(service.run('a', task)).rejects.toMatchObject(refused);
    await expect(service.getSemaphore('s', { permits: 1 }).run(task)).rejects.toMatchObject(refused);
    expect(await service.run('a', () => 'free', { waitTimeout: 0 })).toBe('free');
  });

  it('is not one whose result only has such a name', async () => {
    const result = { [Symbol.toStringTag]: 'ReportGenerator' };
    expect(await service.run('a', () => result)).toBe(result);
  });
});
