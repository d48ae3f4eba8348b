import { describe, expect, it } from '@jest/globals';
import { currentLock, DistributedLock, getLockServiceToken, type LockHandle } from 'nestjs-redis-locks';
import type { LockService } from '../../../lib/service/lock.service.js';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually, eventuallyPasses } from '../../../lab/testbed/wait/eventually.mjs';
import { now } from '../../../lab/testbed/history/history.js';
import { between, LockBench, record, AT_ONCE } from '../../../lab/testbed/locks/locks.js';

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

  it('ends after it if the process is frozen', async () => {
    const [process, here] = [await bench.worker({ renewedLease: '30s' }), await bench.service()];
    const lock = await process.acquire('a', { renewedLease: 900 });
    expect(await here.tryAcquire('a', { waitTimeout: 1_500 })).toBeNull();
    process.process.pause();
    const frozen = now();
    await here.acquire('a');
    expect(between(frozen)).toBeLessThan(900 + AT_ONCE);
    process.process.resume();
    expect(await process.look(lock)).toMatchObject({ isHeld: false });
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

describe('renewedLease that cannot be used', () => {
  const both = { expire: '2s', renewedLease: '5s' } as const;
  const explained =
    'expire (2000 ms) and renewedLease (5000 ms) exclude each other: expire above 0 is a fixed lease, which ends ' +
    'even if the holder still works; renewedLease is a lease that is renewed until the lock is released. Leave one ' +
    'of them out.';

  it.each<[string, (service: LockService) => Promise<unknown>]>([
    ['acquire', (service) => service.acquire('a', both)],
    ['tryAcquire', (service) => service.tryAcquire('a', both)],
    ['run', (service) => service.run('a', () => 'ran', both)],
    ['lock', (service) => service.getLock('a').lock(both)],
    ['semaphore.acquire', (service) => service.getSemaphore('a', { permits: 2 }).acquire(1, both)],
    ['semaphore.run', (service) => service.getSemaphore('a', { permits: 2 }).run(async () => 'ran', both)],
  ])('%s: beside a fixed lease', async (_name, call) => {
    await expect(call(await bench.service())).rejects.toMatchObject({ code: 'LOCK_CONFIG', message: explained });
    expect(await bench.redis.admin.keys('*')).toEqual([]);
  });

  it.each<[unknown, RegExp]>([
    [10, /renewedLease is in milliseconds: write '10s'. It must be at least 50 ms/],
    ['20ms', /renewedLease is too short/],
    [0, /renewedLease is too short/],
    [Infinity, /renewedLease is Infinity/],
    ['soon', /renewedLease is "soon"/],
  ])('%p', async (renewedLease, message) => {
    const service = await bench.service();
    const refused = { code: 'LOCK_CONFIG', message: expect.stringMatching(message) };
    const written = { renewedLease } as { renewedLease: number };
    await expect(service.acquire('a', written)).rejects.toMatchObject(refused);
    expect(() => service.getLeaderElection('a', written)).toThrow(expect.objectContaining(refused));
  });

  it('is accepted with expire: 0, which is a renewed lease, too', async () => {
    const lock = await (await bench.service()).acquire('a', { expire: 0, renewedLease: '5s' });
    expect(lock.remainingTime()).toBeGreaterThan(4_000);
    expect(lock.remainingTime()).toBeLessThanOrEqual(5_000);
  });
});
