import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import { eventually } from '../../support/eventually.js';
import { redisKey } from '../../support/fault-locks.js';
import { aborted, record, timed } from '../../support/locks.js';
import { RespProxy } from '../../support/resp-proxy.js';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);
const lease = 600;
const options = { lockWatchdogTimeout: lease, commandTimeout: 500 };

describe('a renewal by a majority', () => {
  it('keeps a lock for 10 leases, while a master crashes and comes back empty', async () => {
    const [one, other] = await bench.serviceList(2, options);
    const lock = await one!.acquire('a');
    const end = performance.now() + 10 * lease;
    let misses = 0;
    const trying = (async () => {
      while (performance.now() < end) {
        const stolen = await other!.tryAcquire('a');
        if (stolen !== null) misses += 1;
        await sleep(20);
      }
    })();
    await sleep(2 * lease);
    await bench.masters[0]!.kill();
    await sleep(3 * lease);
    await bench.masters[0]!.start();
    await trying;
    expect(misses).toBe(0);
    expect(lock.isHeld).toBe(true);
    await lock.verify();
    expect(await lock.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });

  it('does not wait for a frozen master', async () => {
    const service = await bench.service({ ...options, commandTimeout: 5_000 });
    const events = record(service);
    const lock = await service.acquire('a');
    await bench.masters[2]!.pause();
    await eventually(() => events.filter(({ type }) => type === 'renewed').length >= 4);
    expect((await timed(() => lock.verify())).ran).toBeLessThan(200);
    expect((await timed(() => lock.extend(lease))).ran).toBeLessThan(200);
    expect((await timed(() => lock.release())).ran).toBeLessThan(200);
  });

  it('reinstates a lost vote as long as a majority has the hold, and a lock without a majority is lost', async () => {
    const service = await bench.service(options);
    const lock = await service.acquire('a');
    await bench.masters[0]!.admin.flushall();
    await lock.verify();
    await lock.extend(lease);
    await eventually(async () => (await bench.holding('a')).every(Boolean));
    await Promise.all(bench.masters.slice(0, 2).map(({ admin }) => admin.flushall()));
    const reason = await aborted(lock.signal);
    expect(reason).toMatchObject({ code: 'LOCK_LOST' });
    // What the third master has left ends with its lease.
    expect((await bench.holding('a')).slice(0, 2)).toEqual([false, false]);
    expect(await lock.release()).toBe(false);
    await bench.untilNothingIsLeft();
  });

  describe('if one master has lost the hold and another is slow', () => {
    // Slower than the grace that is given where nothing depends on it.
    const slowness = 150;

    /** One master has lost `lock`, one has it, and one takes its time; `other` is held by all, and renewed with it. */
    async function undecided(options: RedisLockModuleOptions) {
      const slow = bench.endLater(await RespProxy.start(bench.masters[2]!));
      const connection = [bench.masters[0]!.url, bench.masters[1]!.url, slow.url];
      const service = await bench.service({ ...options, connection });
      const [lock, other] = await Promise.all([service.acquire('a'), service.acquire('b')]);
      await eventually(async () => (await bench.holding('a')).every(Boolean));
      await bench.masters[0]!.admin.del(redisKey('state', 'a'));
      slow.delay({ reply: slowness });
      return { lock, other, service };
    }

    it('waits for the slow one, in verify() and extend() too', async () => {
      const { lock } = await undecided({});
      expect((await timed(() => lock.verify())).took).toBeGreaterThanOrEqual(slowness - 5);
      await lock.extend('20s');
      expect(lock.remainingTime()).toBeGreaterThan(19_000);
      expect(await lock.release()).toBe(true);
    });

    it('keeps the lock, renewal after renewal', async () => {
      const { lock, service } = await undecided({ lockWatchdogTimeout: 900 });
      const events = record(service);
      const renewed = (): number => events.filter(({ type, key }) => type === 'renewed' && key === 'a').length;
      await eventually(() => renewed() >= 4 || !lock.isHeld);
      expect(lock.isHeld).toBe(true);
      expect(await lock.release()).toBe(true);
    });

    it('does not delay the renewal of another lock', async () => {
      const { lock, other } = await undecided({ lockWatchdogTimeout: 1_000, commandTimeout: 10_000 });
      await bench.masters[2]!.pause();
      await aborted(lock.signal);
      await sleep(1_000);
      expect(other.isHeld).toBe(true);
      await bench.masters[2]!.resume();
      expect(await other.release()).toBe(true);
    });

    it('reports a failure of Redis, and no loss, if the slow one does not answer at all', async () => {
      const { lock } = await undecided({ commandTimeout: 500 });
      await bench.masters[2]!.pause();
      const { error, took } = await timed(() => lock.verify());
      expect(error).toMatchObject({ code: 'LOCK_STORE' });
      expect(took).toBeGreaterThan(400);
      expect(lock.isHeld).toBe(true);
    });
  });

  it('is retried if a majority fails, and the lock is lost before its leases end', async () => {
    const service = await bench.service(options);
    const lock = await service.acquire('a');
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.pause()));
    const since = performance.now();
    await aborted(lock.signal);
    expect(performance.now() - since).toBeLessThan(lease + 100);
    const release = await timed(() => lock.release());
    expect(release).toMatchObject({ value: false });
    expect(release.ran).toBeLessThan(50);
  });

  it('continues if a majority was frozen for less than a lease', async () => {
    const service = await bench.service({ ...options, lockWatchdogTimeout: 2_000 });
    const lock = await service.acquire('a');
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.pause()));
    await sleep(1_000);
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.resume()));
    await sleep(1_500);
    expect(lock.isHeld).toBe(true);
    expect(await lock.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });
});

describe('a release', () => {
  it('of an expired lock returns at once, and does not throw, even with masters down', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a', { expire: 100 });
    await Promise.all(bench.masters.map((master) => master.pause()));
    await sleep(110);
    const release = await timed(() => lock.release());
    expect(release).toMatchObject({ value: false });
    expect(release.ran).toBeLessThan(50);
  });

  it('of a lock that a majority has lost reports that', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a');
    await Promise.all(bench.masters.slice(0, 2).map(({ admin }) => admin.flushall()));
    expect(await lock.release()).toBe(false);
    await bench.untilNothingIsLeft();
  });

  it('fails if a majority fails', async () => {
    const service = await bench.service({ commandTimeout: 300 });
    const lock = await service.acquire('a');
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.kill()));
    const { error, ran } = await timed(() => lock.release());
    expect(error).toMatchObject({ code: 'LOCK_STORE', message: expect.stringContaining('1 of 3 masters answered') });
    expect(ran).toBeLessThan(900);
    await bench.untilNothingIsLeft(bench.masters.slice(2));
  });
});

describe('validity', () => {
  it('of a lock that was waited for does not count from before the wait', async () => {
    const [one, other] = await bench.serviceList(2);
    const lock = await one!.acquire('a');
    const waiting = other!.acquire('a', { expire: 500 });
    await bench.untilWaiting('a', 1);
    await sleep(800);
    await lock.release();
    const next = await waiting;
    expect(next.isHeld).toBe(true);
    expect(next.remainingTime()).toBeGreaterThan(350);
    expect(next.remainingTime()).toBeLessThanOrEqual(500);
    await next.release();
  });
});
