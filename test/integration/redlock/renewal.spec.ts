import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import { eventually, throughout } from '../../../lab/testbed/wait/eventually.mjs';
import { redisKey } from '../../../lab/testbed/locks/fault-locks.js';
import { aborted, record, timed } from '../../../lab/testbed/locks/locks.js';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);
const lease = 1_000;
const options = { renewedLease: lease, commandTimeout: 700 };

describe('a renewal by a majority', () => {
  it('holds over 6 leases, while a master dies and comes back empty', async () => {
    // So long that renewals are in time on a busy machine, too.
    const renewedLease = 2_000;
    const [one, other] = await bench.serviceList(2, { ...options, renewedLease });
    const lock = await one!.acquire('a');
    const end = performance.now() + 6 * renewedLease;
    let misses = 0;
    const trying = (async () => {
      while (performance.now() < end) {
        const stolen = await other!.tryAcquire('a');
        if (stolen !== null) misses += 1;
        await sleep(20);
      }
    })();
    await sleep(renewedLease);
    await bench.masters[0]!.kill();
    await sleep(2 * renewedLease);
    await bench.masters[0]!.start();
    await trying;
    expect(misses).toBe(0);
    expect(lock.isHeld).toBe(true);
    await lock.verify();
    expect(await lock.release()).toBe(true);
    await bench.untilNothingIsLeft();
  });

  it('does not wait for a frozen master', async () => {
    const service = await bench.service({ renewedLease: 2_000, commandTimeout: 20_000 });
    const events = record(service);
    const lock = await service.acquire('a');
    await bench.masters[2]!.pause();
    const since = performance.now();
    await eventually(() => events.filter(({ type }) => type === 'renewed').length >= 4);
    await lock.verify();
    await lock.extend('20s');
    expect(await lock.release()).toBe(true);
    // Every waiter of it waits for 20 s.
    expect(performance.now() - since).toBeLessThan(15_000);
  });

  it('reinstates a lost vote as long as a majority has the hold, and a lock without a majority is lost', async () => {
    const service = await bench.service(options);
    const lock = await service.acquire('a');
    await bench.masters[0]!.admin.flushall();
    await lock.verify();
    await lock.extend(lease);
    await bench.untilHeldByAll('a');
    // A renewal between the two would take the first vote again.
    await eventually(async () => {
      await Promise.all(bench.masters.slice(0, 2).map(({ admin }) => admin.flushall()));
      return lock.signal.aborted;
    });
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST' });
    expect(await lock.release()).toBe(false);
    await bench.untilNothingIsLeft();
  });

  describe('if one master has lost the hold and another is slow', () => {
    // Slower than the grace that is given where nothing depends on it.
    const slowness = 150;

    /**
     * One master has lost `lock`, one has it, and one takes its time or is frozen; `other` is held by all, and renewed with
     * it. The last one is slow first: else a renewal could take the vote again before.
     */
    async function undecided(options: RedisLockModuleOptions, third: 'slow' | 'frozen') {
      const slow = bench.endLater(await RespProxy.start(bench.masters[2]!));
      const connection = [bench.masters[0]!.url, bench.masters[1]!.url, slow.url];
      const service = await bench.service({ ...options, connection });
      const [lock, other] = await Promise.all([service.acquire('a'), service.acquire('b')]);
      await bench.untilHeldByAll('a');
      if (third === 'slow') slow.delay({ reply: slowness });
      else await bench.masters[2]!.pause();
      await bench.masters[0]!.admin.del(redisKey('state', 'a'));
      return { lock, other, service };
    }

    it('waits for the slow one, in verify() and extend() too', async () => {
      const { lock } = await undecided({}, 'slow');
      expect((await timed(() => lock.verify())).took).toBeGreaterThanOrEqual(slowness - 5);
      await lock.extend('20s');
      expect(lock.remainingTime()).toBeGreaterThan(19_000);
      expect(await lock.release()).toBe(true);
    });

    it('keeps the lock, renewal after renewal', async () => {
      const { lock, service } = await undecided({ renewedLease: 1_500 }, 'slow');
      const events = record(service);
      const renewed = (): number => events.filter(({ type, key }) => type === 'renewed' && key === 'a').length;
      await eventually(() => renewed() >= 4 || !lock.isHeld);
      expect(lock.isHeld).toBe(true);
      expect(await lock.release()).toBe(true);
    });

    it('does not delay the renewal of another lock', async () => {
      const options = { renewedLease: 2_000, commandTimeout: 20_000 };
      const { lock, other, service } = await undecided(options, 'frozen');
      const events = record(service);
      await aborted(lock.signal);
      const renewed = (): number => events.filter(({ type, key }) => type === 'renewed' && key === 'b').length;
      const before = renewed();
      await eventually(() => renewed() >= before + 2 || !other.isHeld);
      expect(other.isHeld).toBe(true);
      await bench.masters[2]!.resume();
      expect(await other.release()).toBe(true);
    });

    it('reports a failure of Redis, and no loss, if the slow one does not answer at all', async () => {
      const { lock } = await undecided({ commandTimeout: 500 }, 'frozen');
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
    const { ran } = await timed(() => aborted(lock.signal));
    expect(ran).toBeLessThan(lease + 100);
    const release = await timed(() => lock.release());
    expect(release).toMatchObject({ value: false });
    expect(release.ran).toBeLessThan(options.commandTimeout - 100);
  });

  it('continues if a majority was frozen for less than a lease', async () => {
    const service = await bench.service({ ...options, renewedLease: 3_000 });
    const events = record(service);
    const renewals = (): number => events.filter(({ type }) => type === 'renewed').length;
    const lock = await service.acquire('a');
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.pause()));
    const before = renewals();
    // One renewal has failed by then.
    await throughout(1_800, () => renewals() === before);
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.resume()));
    await eventually(() => renewals() >= before + 2 || !lock.isHeld);
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
    await eventually(() => !lock.isHeld);
    const release = await timed(() => lock.release());
    expect(release).toMatchObject({ value: false });
    // Half of the time that the masters would be given to answer.
    expect(release.ran).toBeLessThan(2_500);
  });

  it('of a lock that a majority has lost reports that', async () => {
    const service = await bench.service();
    // A renewal between the two commands would give the first master its vote again.
    const lock = await service.acquire('a', { expire: '60s' });
    await bench.untilHeldByAll('a');
    await Promise.all(bench.masters.slice(0, 2).map(({ admin }) => admin.flushall()));
    expect(await lock.release()).toBe(false);
    await bench.untilNothingIsLeft();
  });

  it('fails if a majority fails', async () => {
    const commandTimeout = 500;
    const service = await bench.service({ commandTimeout });
    const lock = await service.acquire('a');
    await Promise.all(bench.masters.slice(0, 2).map((master) => master.kill()));
    const { error, ran } = await timed(() => lock.release());
    expect(error).toMatchObject({ code: 'LOCK_STORE', message: expect.stringContaining('1 of 3 masters answered') });
    expect(ran).toBeLessThan(3 * commandTimeout);
    await bench.untilNothingIsLeft(bench.masters.slice(2));
  });
});

describe('validity', () => {
  it('of a lock that was waited for does not count from before the wait', async () => {
    const [one, other] = await bench.serviceList(2);
    const lock = await one!.acquire('a');
    const waiting = other!.acquire('a', { expire: 2_000 });
    await bench.untilWaiting('a', 1);
    await sleep(1_000);
    await lock.release();
    const next = await waiting;
    expect(next.remainingTime()).toBeGreaterThan(1_050);
    expect(next.remainingTime()).toBeLessThanOrEqual(2_000);
    await next.release();
  });
});
