import { describe, expect, it } from '@jest/globals';
import { now } from '../../../lab/testbed/history/history.js';
import { AT_ONCE, between, LockBench } from '../../../lab/testbed/locks/locks.js';
import { KINDS } from './support.js';

const bench = new LockBench();
const LEAST = 800;

describe('holdAtLeast', () => {
  it.each(KINDS)('makes the next excluded request wait for the rest of it: $kind', async ({ options }) => {
    const [one, other] = await bench.serviceList(2);
    const since = now();
    const lock = await one!.acquire('a', { ...options, holdAtLeast: LEAST });
    expect(await lock.release()).toBe(true);
    expect(lock.isHeld).toBe(false);
    expect(await other!.tryAcquire('a')).toBeNull();
    await other!.acquire('a');
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
    const [one, other] = await bench.serviceList(2);
    const lock = await one!.acquire('a', { ...options, holdAtLeast: 60 });
    const since = now();
    const waiting = other!.acquire('a');
    await bench.untilWaiting('a', 1);
    while (between(since) < 80) await one!.inspect('a');
    const released = now();
    await lock.release();
    await waiting;
    expect(between(released)).toBeLessThan(AT_ONCE);
  });

  it.each(KINDS)('ends with forceRelease: $kind', async ({ options }) => {
    const [one, other] = await bench.serviceList(2);
    await (await one!.acquire('a', { ...options, holdAtLeast: '20s' })).release();
    expect(await other!.forceRelease('a')).toBe(true);
    expect(await other!.tryAcquire('a')).not.toBeNull();
  });
});
