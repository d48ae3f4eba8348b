import { AsyncLocalStorage } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { LockService, LockHandle } from 'nestjs-redis-locks';
import { aborted, LockBench, timed, deferred, eventually } from '../../../lab/testbed/locks/locks.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const bench = new LockBench();

interface Scope {
  readonly parent: Scope | undefined;
}
const STORAGE = Symbol.for('nestjs-redis-locks:scope');

/** In how many scopes the caller is, one in the other: each of them is kept as long as it is. */
function scopesAround(): number {
  const storage = (globalThis as { [STORAGE]?: AsyncLocalStorage<Scope> })[STORAGE];
  let count = 0;
  for (let scope = storage?.getStore(); scope !== undefined; scope = scope.parent) count += 1;
  return count;
}

describe('a handle that was dropped without a release', () => {
  const LEASE = 2_000;

  it.each([
    ['waits already', true],
    ['comes later', false],
  ])('does not block its key for a call that %s in the same client', async (_, early) => {
    const worker = await bench.worker({ renewedLease: LEASE });
    const forgotten = worker.forget('a');
    await eventually(() => bench.redis.admin.exists('lock:state:{a}'));
    const waiting = early ? worker.acquire('a') : undefined;
    await forgotten;
    const { value: lock, error, ran } = await timed(() => waiting ?? worker.acquire('a', { waitTimeout: 2 * LEASE }));
    expect(error).toBeUndefined();
    expect(ran).toBeLessThan(2 * LEASE);
    expect(await worker.release(lock!)).toBe(true);
    await bench.untilNothingIsLeft();
  });
});

describe('data of the user in the async context of a finished call', () => {
  const context = new AsyncLocalStorage<object>();

  /**
   * Runs `work` in a context of its own and returns a weak reference to the contents of that context, and the result of
   * the work.
   */
  const within = async <T>(work: () => Promise<T>): Promise<{ kept: WeakRef<object>; value: T }> => {
    const store = { request: 'large' };
    return { kept: new WeakRef(store), value: await context.run(store, work) };
  };

  const untilCollected = (kept: WeakRef<object>): Promise<unknown> =>
    eventually(
      () => {
        collectGarbage();
        return kept.deref() === undefined;
      },
      { what: 'the end of the context' },
    );

  it.each<[string, (service: LockService) => Promise<unknown>]>([
    ['acquire, release', async (service) => releasedHandle(await service.acquire('a'))],
    ['await using', async (service) => disposedHandle(await service.acquire('a'))],
    ['a release that was not awaited', async (service) => carelesslyReleased(await service.acquire('a'))],
    ['run', (service) => service.run('a', async (lock) => lock)],
    ['a try that failed', (service) => service.tryAcquire('taken')],
    [
      'a wait that was given up',
      async (service) => (await timed(() => service.acquire('taken', { waitTimeout: 20 }))).took,
    ],
  ])('is not retained by %s, even if the handle is', async (_, work) => {
    const service = await bench.service();
    const taken = await service.acquire('taken');
    const { kept, value } = await within(() => work(service));
    await untilCollected(kept);
    expect(value === undefined).toBe(false); // it has been kept until now
    expect(await taken.release()).toBe(true);
  });
});

const releasedHandle = async (lock: LockHandle): Promise<LockHandle> => {
  await lock.release();
  return lock;
};
const disposedHandle = async (lock: LockHandle): Promise<LockHandle> => {
  await lock[Symbol.asyncDispose]();
  return lock;
};
const carelesslyReleased = async (lock: LockHandle): Promise<LockHandle> => {
  void lock.release();
  return lock;
};

it('handles that re-entered and were released are not notified of a later loss', async () => {
  const service = await bench.service();
  let told = 0;
  const onLost = (): void => {
    told += 1;
  };
  const { error } = await timed(() =>
    service.run('a', async (lock) => {
      for (let i = 0; i < 20; i++) {
        await service.run('a', () => i, { onLost });
        await (await service.acquire('a', { onLost })).release();
      }
      const open = await service.acquire('a', { onLost });
      await service.forceRelease('a');
      await aborted(lock.signal);
      expect(open.isHeld).toBe(false);
    }),
  );
  expect(error).toMatchObject({ code: 'LOCK_LOST' });
  // The callback of the handle that was not released.
  expect(told).toBe(1);
});

it('a task that restarts itself from its own scope does not accumulate scopes', async () => {
  const service = await bench.service();
  const ROUNDS = 100;
  const depth = deferred<number>();
  let rounds = 0;
  const round = async (): Promise<void> => {
    await service.run('a', () => {
      if (++rounds < ROUNDS) setTimeout(() => void round(), 0);
      else depth.resolve(scopesAround());
    });
  };
  await round();
  expect(await depth).toBeLessThanOrEqual(3);
});

it('an AbortSignal shared by many waiters has one listener, and none after they are served', async () => {
  const service = await bench.service();
  const warnings: Error[] = [];
  const warned = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warned);
  const { signal } = new AbortController();
  const first = await service.acquire('a');
  const WAITERS = 50;
  const waiting = Promise.all(Array.from({ length: WAITERS }, (_, i) => service.run('a', () => i, { signal })));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await first.release();
  expect(await waiting).toHaveLength(WAITERS);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  process.off('warning', warned);
  expect(warnings).toEqual([]);
});
