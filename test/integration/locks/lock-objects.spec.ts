import type { LockObject, LockService, LockHandle } from 'nestjs-redis-locks';
import { inspect } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { Section } from '../../../lab/testbed/locks/section.js';
import { LockBench, aborted, timed, deferred, eventually, eventuallyPasses } from '../../../lab/testbed/locks/locks.js';
import { DefaultLock } from '../../../lib/service/objects/default-lock.js';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { OwnerHandles } from '../../../lib/service/handles/owner-handles.js';
import type { HeldLock } from '../../../lib/service/handles/held-lock.js';
import { currentScope } from '../../../lib/service/lock-scope.js';

const bench = new LockBench();
let service: LockService;
/** A Lock object of that service. */
let lock: LockObject;
beforeEach(async () => {
  service = await bench.service();
  lock = service.getLock('a');
});

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
    const [one, other] = await bench.pair();
    const [lock, theirs] = [make(one), make(other)];
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
    const [one, other] = await bench.pair();
    const lock = make(one, 'me');
    const counts = [lock.getHoldCount()];
    const steps = [() => lock.lock(), () => lock.tryLock(), () => lock.unlock(), () => lock.unlock()];
    for (const step of steps) {
      await step();
      counts.push(lock.getHoldCount());
      expect(await make(other).isLocked()).toBe(counts.at(-1)! > 0);
      expect(await make(other).isHeldBy('me')).toBe(counts.at(-1)! > 0);
    }
    expect(counts).toEqual([0, 1, 2, 1, 0]);
    await expect(lock.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    await bench.untilNothingIsLeft();
  });

  it('lock() accepts a signal, and refuses options that make no sense', async () => {
    const [one, other] = await bench.pair();
    await one.acquire('a');
    const lock = make(other);
    await expect(lock.lock({ signal: AbortSignal.timeout(60) })).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(lock.lock({ waitTimeout: 60 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await expect(lock.lock({ expire: 10 })).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    await expect(lock.tryLock(-1)).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    expect(await bench.waiters('a')).toEqual([]);
  });
});

describe('objects of one key beside each other', () => {
  it('the two locks of a read-write lock report their own state', async () => {
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

describe('a Lock object', () => {
  it('returns handles that print without internals of the engine', async () => {
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
    const deaf = { isHeld: true, holdCount: 1 } as HeldLock;
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
    const lock = service.getLock('a', { owner: 'me' });
    const [first, second] = [await lock.lock(), await lock.lock()];
    await lock.unlock();
    expect([first.isHeld, second.isHeld]).toEqual([true, false]);
    await lock.unlock();
    await expect(lock.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
  });

  it('serves two waiters of one owner together', async () => {
    const [here, there] = await bench.pair();
    const lock = await here.acquire('a');
    const both = [there.acquire('a', { owner: 'me' }), there.acquire('a', { owner: 'me' })];
    await bench.untilWaiting('a', 2);
    await lock.release();
    expect((await Promise.all(both)).map(({ isHeld }) => isHeld)).toEqual([true, true]);
  });

  it('keeps overlapping contexts apart, like threads of one name', async () => {
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

/** Renewals go on while the machine holds this process up for half a second. */
const LEASE = 1_000;

const notRenewed = (): string[] => bench.warnings.filter((text) => text.includes('is not renewed any more'));

/** Resolves when the key is free: at the latest a lease after the last renewal. */
const untilFree = (service: LockService): Promise<void> =>
  eventuallyPasses(async () => expect(await service.inspect('a')).toBeNull(), { within: 3 * LEASE });

/** A Lock object whose lease is renewed often. */
async function leased() {
  const service = await bench.service({ renewedLease: LEASE });
  return { service, lock: service.getLock('a') };
}

/** Continues after the lease would have ended without renewals. */
const beyondLease = (): Promise<unknown> => sleep(1.5 * LEASE);

/** The code of users who know Redisson: the attempt within the `try`, the guard in the `finally`. */
async function guarded(lock: LockObject, work: (handle: LockHandle) => Promise<void>): Promise<string> {
  try {
    const handle = await lock.tryLock();
    if (handle === null) return 'busy';
    await work(handle);
    return 'done';
  } finally {
    if (lock.isHeldByCurrentContext()) await lock.unlock();
  }
}

/** The same without the guard. */
async function careless(lock: LockObject, attempt: () => Promise<unknown>): Promise<void> {
  try {
    await attempt();
  } finally {
    await lock.unlock();
  }
}

describe('a shared Lock object outside of any context', () => {
  it('serves sequential callers', async () => {
    const other = service.getLock('a');
    for (let i = 0; i < 3; i += 1) {
      await lock.lock();
      expect(await other.tryLock()).toBeNull();
      await lock.unlock();
      expect(await guarded(lock, async () => {})).toBe('done');
      const theirs = await other.lock();
      expect(await guarded(lock, async () => {})).toBe('busy');
      await theirs.release();
    }
    expect([await service.inspect('a'), notRenewed()]).toEqual([null, []]);
  });

  it('refuses an overlapping call when it begins, and says what to write', async () => {
    const first = lock.lock();
    const calls = [
      () => lock.lock(),
      () => lock.tryLock(),
      () => lock.tryLock('1s'),
      () => first.then(() => lock.lock()),
    ];
    for (const call of calls) {
      const { error, ran } = await timed(call);
      expect(error).toMatchObject({ code: 'LOCK_CONFIG', key: 'a' });
      expect((error as Error).message).toMatch(/object for each call, write run\(key, task\) or @DistributedLock/);
      expect(ran).toBeLessThan(900);
    }
    await (await first).verify();
    await (await first).release();
  });

  it.each<[string, (lock: LockObject) => Promise<unknown>]>([
    ['lock()', (lock) => careless(lock, () => lock.lock())],
    ['tryLock()', (lock) => careless(lock, () => lock.tryLock())],
    ['tryLock() with a wait', (lock) => careless(lock, () => lock.tryLock('50ms'))],
    ['tryLock() and the guard', (lock) => guarded(lock, async () => {})],
  ])('does not let %s of a second caller end the lock of the first, or keep it beyond a lease', async (_, second) => {
    const { service, lock } = await leased();
    const handle = await lock.lock();
    expect((await timed(() => second(lock))).error).toBeDefined();
    await handle.verify();
    expect(notRenewed()).toEqual([
      expect.stringContaining("'a' was acquired through a Lock object that overlapping calls share"),
    ]);
    await untilFree(service);
    expect(await aborted(handle.signal)).toMatchObject({ code: 'LOCK_LOST' });
  });

  it('renews the lock of the first caller until a call unlocks it', async () => {
    const { lock } = await leased();
    const handle = await lock.lock();
    await expect(lock.tryLock()).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    await beyondLease();
    await handle.verify();
    expect(await handle.release()).toBe(true);
    expect(await guarded(lock, async () => {})).toBe('done');
    expect(notRenewed()).toEqual([]);
  });

  it('refuses one unlock() for each call that acquired nothing, and executes the next', async () => {
    const handle = await lock.lock();
    for (let i = 0; i < 2; i += 1) await expect(lock.lock()).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    for (let i = 0; i < 2; i += 1)
      await expect(lock.unlock()).rejects.toThrow(/stays held until its handle is released/);
    await handle.verify();
    await lock.unlock();
    expect([handle.isHeld, await service.inspect('a'), notRenewed().length]).toEqual([false, null, 1]);
  });

  it('does not let a caller that lost the lock unlock that of the next one', async () => {
    const first = await lock.lock({ expire: 300 });
    await eventually(() => !first.isHeld);
    const second = await lock.lock();
    await expect(lock.unlock()).rejects.toThrow(/may be the unlock\(\) of another one/);
    await second.verify();
    await lock.unlock();
    expect([second.isHeld, await service.inspect('a')]).toEqual([false, null]);
  });

  it('reports the loss to its caller, and can be used again', async () => {
    const first = await lock.lock({ expire: 300 });
    await eventually(() => !first.isHeld);
    await expect(lock.unlock()).rejects.toThrow(/had been lost/);
    await lock.lock();
    await lock.unlock();
    expect(await lock.isLocked()).toBe(false);
  });

  it('does not renew a lock from outside that is unlocked within a scope', async () => {
    const { service, lock } = await leased();
    await lock.lock();
    await expect(service.run('b', () => lock.unlock())).rejects.toThrow(/unlock in the context that locked/);
    expect(notRenewed()).toHaveLength(1);
    await untilFree(service);
  });

  it('keeps renewing if a call within a scope acquired nothing and unlocks', async () => {
    const { service, lock } = await leased();
    const handle = await lock.lock();
    for (const second of [
      () => careless(lock, () => lock.tryLock()),
      () => careless(lock, () => lock.lock({ waitTimeout: 20 })),
    ])
      await expect(service.run('b', second)).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    expect(await service.run('b', () => guarded(lock, async () => {}))).toBe('busy');
    await beyondLease();
    await handle.verify();
    await lock.unlock();
    expect([await service.inspect('a'), notRenewed()]).toEqual([null, []]);
  });

  it.each<[string, (lock: LockObject) => Promise<unknown>]>([
    ['lock()', (lock) => lock.lock()],
    ['tryLock()', (lock) => lock.tryLock()],
  ])('does not let %s that was refused end the lock of a call that waited meanwhile', async (_, second) => {
    const other = await bench.service();
    const theirs = await other.acquire('a');
    const first = lock.lock();
    await bench.untilWaiting('a', 1);
    await expect(second(lock)).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    await theirs.release();
    const handle = await first;
    expect(lock.isHeldByCurrentContext()).toBe(false);
    await expect(lock.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    await handle.verify();
    await handle.release();
  });

  it.each<[string, (lock: LockObject) => Promise<unknown>]>([
    [
      'was not renewed any more',
      async (lock) => {
        const first = await lock.lock();
        await expect(lock.tryLock()).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
        expect(lock.isHeldByCurrentContext()).toBe(false);
        await aborted(first.signal);
      },
    ],
    [
      'was released by force',
      async (lock) => {
        await lock.lock();
        expect(await lock.forceUnlock()).toBe(true);
      },
    ],
  ])('does not let a call whose lock %s end the lock of the next one', async (_how, end) => {
    const { lock } = await leased();
    await end(lock);
    const next = await lock.lock({ expire: '1m' });
    expect(lock.isHeldByCurrentContext()).toBe(false);
    await expect(lock.unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    await next.verify();
    await next.release();
  });

  it('expects the unlock() of a lost lock for a lease only, so that lone calls with a guard go on', async () => {
    const { service, lock } = await leased();
    const lost = await lock.lock({ expire: 300 });
    await eventually(() => !lost.isHeld);
    expect(lock.isHeldByCurrentContext()).toBe(false);
    await beyondLease();
    expect(await guarded(lock, async () => {})).toBe('done');
    expect([await service.inspect('a'), notRenewed()]).toEqual([null, []]);
  });

  it('can be garbage-collected: each getLock() has its own memory', async () => {
    const handles = await Promise.all(['a', 'b', 'c'].map((key) => service.getLock(key).lock()));
    await expect(service.getLock('a').unlock()).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
    for (const handle of handles) expect(await handle.release()).toBe(true);
  });
});

describe('a shared Lock object in scopes', () => {
  it('makes siblings of one scope wait for each other, and unlocks for each what it acquired', async () => {
    const section = new Section();
    const pass = async (): Promise<void> => {
      const handle = await lock.lock();
      try {
        await section.pass(() => handle.verify());
      } finally {
        await lock.unlock();
      }
    };
    await service.run('scope', () => Promise.all([pass(), pass(), pass(), pass()]));
    expect(section).toMatchObject({ most: 1, entries: 4 });
    expect([await service.inspect('a'), notRenewed()]).toEqual([null, []]);
  });

  it('refuses the unlock() of a sibling that acquired nothing, and keeps the lock of the first one', async () => {
    await service.run('scope', async () => {
      const end = deferred();
      const begun = deferred<LockHandle>();
      const first = guarded(lock, async (handle) => (begun.resolve(handle), end));
      const handle = await begun;
      for (const second of [() => lock.tryLock(), () => lock.tryLock(30), () => lock.lock({ waitTimeout: 20 })]) {
        await expect(careless(lock, second)).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
        await handle.verify();
      }
      end.resolve();
      expect(await first).toBe('done');
    });
    expect(await service.inspect('a')).toBeNull();
  });

  it('does not let a sibling whose wait has ended unlock the lock of a sibling that waited longer', async () => {
    const other = await bench.service();
    const theirs = await other.acquire('a');
    await service.run('scope', async () => {
      const first = lock.lock();
      await expect(lock.lock({ waitTimeout: 50 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
      await theirs.release();
      const handle = await first;
      expect(lock.isHeldByCurrentContext()).toBe(false);
      await handle.verify();
      await handle.release();
    });
  });

  it('refuses a second reader in one scope, whose unlock() could be that of the first', async () => {
    const lock = service.getReadWriteLock('a').readLock();
    await service.run('scope', async () => {
      const handle = await lock.lock();
      await expect(careless(lock, () => lock.lock())).rejects.toMatchObject({ code: 'LOCK_NOT_HELD' });
      await handle.verify();
      await handle.release();
    });
    const readers = [1, 2, 3].map((i) =>
      service.run(`scope ${i}`, async () => {
        await lock.lock();
        await lock.unlock();
      }),
    );
    await Promise.all(readers);
    expect(await service.inspect('a')).toBeNull();
  });

  it('never unlocks the lock of the scope itself', async () => {
    await service.run('a', async (outer) => {
      expect(lock.isHeldByCurrentContext()).toBe(true);
      await expect(careless(lock, () => lock.lock({ signal: AbortSignal.abort() }))).rejects.toThrow(
        /held by the scope/,
      );
      await outer.verify();
      await lock.lock();
      await lock.unlock();
      await expect(lock.unlock()).rejects.toThrow(/held by the scope/);
      await outer.verify();
    });
    expect([await service.inspect('a'), notRenewed()]).toEqual([null, []]);
  });

  it('does not renew a lock that was not unlocked before the end of its scope, with one warning', async () => {
    const { service, lock } = await leased();
    const handle = await service.run('scope', () => lock.lock());
    expect(handle.isHeld).toBe(true);
    expect(notRenewed()).toEqual([
      expect.stringContaining("'a' was acquired through a Lock object and not unlocked before its scope ended"),
    ]);
    await untilFree(service);
    await service.run('scope', () => careless(lock, () => lock.lock()));
  });

  it('does not renew a lock that is unlocked within an inner scope', async () => {
    const { service, lock } = await leased();
    await service.run('outer', async () => {
      const handle = await lock.lock();
      await expect(service.run('inner', () => lock.unlock())).rejects.toThrow(/unlock in the context that locked/);
      await aborted(handle.signal);
    });
    expect(notRenewed()).toHaveLength(1);
  });

  it('does not renew a lock that is acquired after its scope has ended', async () => {
    const { service, lock } = await leased();
    const ended = deferred();
    const work = await service.run('scope', () => ({ handle: ended.then(() => lock.lock()) }));
    ended.resolve();
    await aborted((await work.handle).signal);
    expect(notRenewed()).toEqual([
      expect.stringContaining("'a' was acquired through a Lock object and not unlocked before its scope ended"),
    ]);
  });

  it('does not keep the lock of a scope for a re-entry that was not unlocked', async () => {
    await service.run('a', async (outer) => {
      await service.run('b', () => service.getLock('a').lock());
      await outer.verify();
      await service.getLock('a').lock();
    });
    expect([await service.inspect('a'), notRenewed()]).toEqual([null, []]);
  });

  it('forgets objects that a long scope no longer uses', async () => {
    await service.run('long', async () => {
      for (let i = 0; i < 200; i += 1) {
        const lock = service.getLock(`key ${i}`);
        await lock.lock();
        await lock.unlock();
      }
      const remembered = Reflect.get(currentScope()!, 'taken') as Set<unknown>;
      expect(remembered.size).toBe(0);
    });
  });
});

it('a log of a lock object, a semaphore or a latch shows what it is, not the engine', async () => {
  const objects = {
    lock: service.getLock('a'),
    owned: service.getReadWriteLock('a', { owner: 'ann' }).readLock(),
    several: service.getMultiLock(['a', 'b']),
    semaphore: service.getSemaphore('s', { permits: 2 }),
    latch: service.getCountDownLatch('l'),
  };
  expect(JSON.parse(JSON.stringify(objects))).toEqual({
    lock: { key: 'a', kind: 'exclusive' },
    owned: { key: 'a', kind: 'read', owner: 'ann' },
    several: { keys: ['a', 'b'], kind: 'exclusive' },
    semaphore: { key: 's', permits: 2 },
    latch: { key: 'l' },
  });
  expect(Object.values(objects).map((object) => inspect(object))).toEqual([
    "Lock { key: 'a', kind: 'exclusive' }",
    "Lock { key: 'a', kind: 'read', owner: 'ann' }",
    "Lock { keys: [ 'a', 'b' ], kind: 'exclusive' }",
    "Semaphore { key: 's', permits: 2 }",
    "CountDownLatch { key: 'l' }",
  ]);
});
