import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { between, LockBench, record, AT_ONCE } from '../../../lab/testbed/locks/locks.js';
import { now } from '../../../lab/testbed/history/history.js';

const bench = new LockBench();

describe('the watchdog', () => {
  it('renews many locks at once, with few commands', async () => {
    const service = await bench.service({ renewedLease: 1_500 });
    const locks = await Promise.all(Array.from({ length: 300 }, (_, i) => service.acquire(`many:${i}`)));
    const renewals = record(service);
    await bench.redis.resetCommandStats();
    await eventually(() => renewals.length >= 900);
    const { evalsha = 0 } = await bench.redis.commandStats();
    expect(evalsha).toBeLessThan(40); // 3 rounds of 3 commands, if all fell due in the same moment
    expect(await Promise.all(locks.map((lock) => lock.release()))).toEqual(locks.map(() => true));
  });

  it('extends the short first lease of a handed-off lock, which does not count for maxRenewTimes', async () => {
    const options = { renewedLease: 2_400, grantTimeout: 800 };
    const [one, other] = [await bench.service(options), await bench.service(options)];
    const first = await one.acquire('a');
    const events = record(other);
    const second = other.acquire('a', { maxRenewTimes: 1 });
    await bench.untilWaiting('a', 1);
    await first.release();
    const lock = await second;
    expect(lock.remainingTime()).toBeLessThan(800);
    await eventually(() => lock.remainingTime() > 1_200);
    expect(events.filter(({ type }) => type === 'renewed')).toEqual([]);
    await eventually(() => events.some(({ type }) => type === 'renewed'));
    expect(lock.isHeld).toBe(true);
  });

  it('stops with the release', async () => {
    const service = await bench.service({ renewedLease: 900 });
    const locks = await Promise.all(['a', 'b', 'c'].map((key) => service.acquire(key)));
    const events = record(service);
    await eventually(() => events.length >= 6);
    await Promise.all(locks.map((lock) => lock.release()));
    await bench.redis.resetCommandStats();
    await sleep(400); // more than from one renewal to the next
    expect((await bench.redis.commandStats())['evalsha']).toBeUndefined();
  });
});

describe('holdAtLeast', () => {
  it('keeps nothing after its time', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a', { holdAtLeast: 30 });
    await sleep(40);
    expect(await lock.release()).toBe(true);
    expect(await service.inspect('a')).toBeNull();
  });

  it('wakes waiters when it ends, however their wait began', async () => {
    const [holder, before, after] = await bench.serviceList(3);
    const lock = await holder!.acquire('a', { holdAtLeast: 400 });
    const since = now();
    const first = before!.run('a', async () => between(since));
    await bench.untilWaiting('a', 1);
    await lock.release();
    const second = after!.run('a', async () => between(since));
    const [one, two] = await Promise.all([first, second]);
    expect(one).toBeGreaterThanOrEqual(390);
    expect(two).toBeGreaterThanOrEqual(one);
    expect(two).toBeLessThan(400 + AT_ONCE);
  });
});
