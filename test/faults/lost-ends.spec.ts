import { isLockStoreError, type LockHandle, type LockService } from '../../lib/index.js';
import { LockBench } from '../../lab/testbed/locks/locks.js';

const PERMITS = 300;
const STATE = 'lock:state:{a}';
const ENDS = 'lock:ends:{a}';
const bench = new LockBench();

let services: LockService[];
let handles: LockHandle[];

/** Asks again if a busy machine takes longer for the pieces than a try may last. */
async function tryOne(i: number): Promise<LockHandle | null> {
  for (;;) {
    try {
      return await services[i % 2]!.tryAcquire('a', { permits: PERMITS, fair: true });
    } catch (error) {
      if (!isLockStoreError(error) || !error.transient) throw error;
    }
  }
}
const several = <T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)));

/** Acquires the permits that are free. It waits: a try that failed may hold its permit until its release has arrived. */
async function acquireRest(): Promise<void> {
  // Each with a hold of its own.
  const terms = { permits: PERMITS, fair: true, waitTimeout: '20s' } as const;
  handles.push(...(await several(PERMITS - handles.length, (i) => services[i % 2]!.acquire('a', terms))));
}

// Making the ends of so many holds again takes several scripts.
beforeEach(async () => {
  services = await bench.serviceList(2);
  handles = [];
  await acquireRest();
  expect(handles.length).toBe(PERMITS);
});

it('grants no permit beyond the limit while clients make lost ends again', async () => {
  await bench.redis.admin.del(ENDS);
  expect((await several(20, tryOne)).filter((handle) => handle !== null).length).toBe(0);
  expect(await bench.redis.admin.zcard(ENDS)).toBe(PERMITS);
});

it('grants exactly the permits that are released while clients make lost ends again', async () => {
  const { admin } = bench.redis;
  for (let round = 0; round < 5; round++) {
    await admin.del(ENDS);
    const released = handles.splice(0, 30).map((handle) => handle.release());
    const asked = several(60, tryOne);
    expect(await Promise.all(released)).toEqual(new Array(30).fill(true));
    handles.push(...(await asked).filter((handle) => handle !== null));
    await acquireRest();
    expect(handles.length).toBe(PERMITS);
    expect((await admin.hkeys(STATE)).filter((field) => field.startsWith('+')).length).toBe(PERMITS);
  }
});

it('grants no permit beyond the limit if a failover separates the pieces of the ends', async () => {
  const { admin } = bench.redis;
  const MISSING = 100;
  await admin.zrem(ENDS, ...(await admin.zrange(ENDS, 0, String(MISSING - 1))));
  // The cursor of another server means nothing here, and leads to few of the holds.
  await admin.hset(STATE, '#next', '511 1');
  expect((await tryOne(0)) === null).toBe(true);
  expect(await admin.zcard(ENDS)).toBe(PERMITS);
});

it('answers yes, no or a number about many holds with one command, and the same after the ends got lost', async () => {
  const { admin } = bench.redis;
  const [service] = services as [LockService];
  const semaphore = service.getSemaphore('a', { permits: PERMITS + 7 });
  const lock = service.getLock('a');
  const readers = service.getReadWriteLock('b').readLock();
  await several(200, (i) => service.acquire('b', { kind: 'read', owner: `o${i}`, expire: '60s' }));
  const answers = async (): Promise<unknown> => ({
    available: await semaphore.availablePermits(),
    permits: await semaphore.getPermits(),
    isLocked: [await lock.isLocked(), await readers.isLocked()],
    isHeldBy: [await readers.isHeldBy('o3'), await readers.isHeldBy('o333'), await lock.isHeldBy('o3')],
    hasTime: (await readers.remainTimeToLive()) > 30_000,
    none: await lock.remainTimeToLive(),
  });
  const expected = {
    ...{ available: 7, permits: PERMITS + 7, isLocked: [false, true], isHeldBy: [true, false, false] },
    ...{ hasTime: true, none: -2 },
  };
  await admin.config('RESETSTAT');
  expect(await answers()).toEqual(expected);
  expect(await admin.info('commandstats')).not.toContain('cmdstat_hscan');
  expect(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info('commandstats'))![1]).toBe('9');
  await admin.del(ENDS, 'lock:ends:{b}');
  expect(await answers()).toEqual(expected);
});
