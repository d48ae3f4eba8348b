import { currentLock, DistributedLock, getLockServiceToken, type LockHandle } from 'nestjs-redis-locks';
import type { LockService } from '../../../lib/service/lock.service.js';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually, eventuallyPasses } from '../../../lab/testbed/wait/eventually.mjs';
import { LockBench, record, AT_ONCE, between } from '../../../lab/testbed/locks/locks.js';
import { now } from '../../../lab/testbed/history/history.js';
import { KINDS } from '../kinds/support.js';

const bench = new LockBench();
/** Renewals go on while the machine holds this process up for half a second. */
const LEASE = 1_200;

class Stock {
  readonly end = deferred();

  @DistributedLock({ key: '#{#_key}', renewedLease: LEASE })
  async reserve(_key: string, held: (lock: LockHandle) => void): Promise<void> {
    held(currentLock());
    await this.end;
  }
}

function throughDecorator(service: LockService, key: string): Promise<LockHandle> {
  const stock = new Stock();
  Reflect.set(stock, getLockServiceToken(), service);
  return new Promise((resolve, reject) => {
    stock
      .reserve(key, (lock) => {
        lock.signal.addEventListener('abort', () => stock.end.resolve(), { once: true });
        resolve(lock);
      })
      .catch(reject);
  });
}

/** Gives the handle of what `run` runs; the task continues until the handle is released. */
function throughRun(run: (task: (lock: LockHandle) => Promise<void>) => Promise<unknown>): Promise<LockHandle> {
  return new Promise((resolve, reject) => {
    run((lock) => {
      resolve(lock);
      return new Promise((end) => lock.signal.addEventListener('abort', () => end(), { once: true }));
    }).catch(reject);
  });
}

async function throughElection(service: LockService, key: string): Promise<LockHandle> {
  const election = service.getLeaderElection(key, { renewedLease: LEASE }).start();
  await eventually(() => election.isLeader);
  return election.handle!;
}

const options = { renewedLease: LEASE };

/** Every way to acquire a key. */
const WAYS: Record<string, (service: LockService, key: string) => Promise<LockHandle | null>> = {
  acquire: (service, key) => service.acquire(key, options),
  'acquire of several keys': (service, key) => service.acquire([key, 'another'], options),
  tryAcquire: (service, key) => service.tryAcquire(key, options),
  run: (service, key) => throughRun((task) => service.run(key, task, options)),
  'a decorated method': throughDecorator,
  'lock() of a Lock object': (service, key) => service.getLock(key).lock(options),
  'lock() of a read lock': (service, key) => service.getReadWriteLock(key).readLock().lock(options),
  'acquire of a semaphore': (service, key) => service.getSemaphore(key, { permits: 2 }).acquire(1, options),
  'run of a semaphore': (service, key) =>
    throughRun((task) => service.getSemaphore(key, { permits: 2 }).run(task, options)),
  'an election': throughElection,
};
/** The same for each of them. */
const each = <T>(value: T): Array<[string, T]> => Object.keys(WAYS).map((name) => [name, value]);

const ttlOf = async (service: LockService, key = 'a'): Promise<number> => (await service.inspect(key))!.holders[0]!.ttl;

describe('renewedLease of one call', () => {
  it('makes the lease that long and renewed for as long as it is held, whichever way the key is acquired', async () => {
    const service = await bench.service({ renewedLease: '30s' });
    const events = record(service);
    // They all wait for renewals, so they do it together, each with a key of its own.
    const keyOf = (name: string): string => name.replaceAll(/\W/g, '-');
    const ofAll = <T>(look: (name: string) => T | Promise<T>): Promise<Array<[string, T]>> =>
      Promise.all(Object.keys(WAYS).map(async (name) => [name, await look(name)]));
    const locks = new Map(await ofAll((name) => WAYS[name]!(service, keyOf(name))));
    const renewals = (name: string): number =>
      events.filter(({ type, key }) => type === 'renewed' && key === keyOf(name)).length;
    const isShort = async (name: string): Promise<boolean> => (await ttlOf(service, keyOf(name))) <= LEASE;
    expect(await ofAll(isShort)).toEqual(each(true));
    await eventuallyPasses(async () => expect(await ofAll((name) => renewals(name) >= 4)).toEqual(each(true)));
    expect(await ofAll((name) => locks.get(name)!.isHeld)).toEqual(each(true));
    expect(await ofAll(isShort)).toEqual(each(true));
  });

  it('applies to a waiter that takes over the key from another caller of its process', async () => {
    const service = await bench.service({ renewedLease: '30s' });
    const first = await service.acquire('a');
    const second = service.acquire('a', { renewedLease: LEASE });
    const events = record(service);
    await first.release();
    const lock = await second;
    await eventually(() => events.filter(({ type }) => type === 'renewed').length >= 2);
    expect(lock.isHeld).toBe(true);
    expect(await ttlOf(service)).toBeLessThanOrEqual(LEASE);
  });

  it("is a renewed lease, even if the module's default is a fixed one", async () => {
    const service = await bench.service({ defaults: { expire: '1s' } });
    const events = record(service);
    const lock = await service.acquire('a', { renewedLease: LEASE });
    await eventually(() => events.filter(({ type }) => type === 'renewed').length >= 3);
    expect(lock.isHeld).toBe(true);
  });
});

it('renewedLease is accepted with expire: 0, which is a renewed lease, too', async () => {
  const lock = await (await bench.service()).acquire('a', { expire: 0, renewedLease: '5s' });
  expect(lock.remainingTime()).toBeGreaterThan(4_000);
  expect(lock.remainingTime()).toBeLessThanOrEqual(5_000);
});

const LEAST = 800;

describe('holdAtLeast', () => {
  it.each(KINDS)('makes the next excluded request wait for the rest of it: $kind', async ({ options }) => {
    const [one, other] = await bench.pair();
    const since = now();
    const lock = await one.acquire('a', { ...options, holdAtLeast: LEAST });
    expect(await lock.release()).toBe(true);
    expect(lock.isHeld).toBe(false);
    expect(await other.tryAcquire('a')).toBeNull();
    await other.acquire('a');
    expect(between(since)).toBeGreaterThanOrEqual(LEAST - 5);
    expect(between(since)).toBeLessThan(LEAST + AT_ONCE);
  });

  it('in `defaults` applies to every call, at most for a fixed lease, and not to elections', async () => {
    const service = await bench.service({ defaults: { holdAtLeast: '20s' } });
    const kept = async (key: string) => (await service.inspect(key))?.holders ?? [];
    await service.run('a', () => undefined);
    expect(await kept('a')).toMatchObject([{ kept: true }]);
    await service.run('b', () => undefined, { holdAtLeast: 0 });
    expect(await kept('b')).toEqual([]);
    await service.run('c', () => undefined, { expire: '10s' });
    const [short] = await kept('c');
    expect(short).toMatchObject({ kept: true });
    expect(short!.ttl).toBeLessThanOrEqual(10_000);
    const election = service.getLeaderElection('leader');
    const elected = new Promise<void>((resolve) =>
      service.events.subscribe(({ type, key }) => type === 'acquired' && key === 'leader' && resolve()),
    );
    election.start();
    await elected;
    await election.stop();
    expect(await kept('leader')).toEqual([]);
    await bench.redis.admin.flushall();
    const wrong = bench.service({ defaults: { holdAtLeast: '2s', expire: '1s' } });
    await expect(wrong).rejects.toThrow('defaults.holdAtLeast (2000 ms) is longer than expire (1000 ms)');
  });

  it.each(KINDS)('does not delay a release after that time: $kind', async ({ options }) => {
    const [one, other] = await bench.pair();
    const lock = await one.acquire('a', { ...options, holdAtLeast: 60 });
    const since = now();
    const waiting = other.acquire('a');
    await bench.untilWaiting('a', 1);
    while (between(since) < 80) await one.inspect('a');
    const released = now();
    await lock.release();
    await waiting;
    expect(between(released)).toBeLessThan(AT_ONCE);
  });

  it.each(KINDS)('ends with forceRelease: $kind', async ({ options }) => {
    const [one, other] = await bench.pair();
    await (await one.acquire('a', { ...options, holdAtLeast: '20s' })).release();
    expect(await other.forceRelease('a')).toBe(true);
    expect(await other.tryAcquire('a')).not.toBeNull();
  });
});
