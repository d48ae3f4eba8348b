import { describe, expect, it } from '@jest/globals';
import { isLockTimeoutError } from 'nestjs-redis-locks/client';
import { now } from '../../../lab/testbed/history/history.js';
import { AT_ONCE, between, LockBench, timed } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

describe('a wait with a limit', () => {
  it('of 0 is a single try and a single command, and an error takes a second one to name the holder', async () => {
    const [holder, other] = await bench.serviceList(2);
    await holder!.acquire('a');
    await other!.tryAcquire('b');
    await bench.redis.resetCommandStats();
    expect(await other!.getLock('a').tryLock()).toBeNull();
    expect(await other!.tryAcquire('a')).toBeNull();
    const { error, ran } = await timed(() => other!.acquire('a', { waitTimeout: 0 }));
    expect(isLockTimeoutError(error)).toBe(true);
    expect(ran).toBeLessThan(AT_ONCE);
    expect((await bench.redis.commandStats())['evalsha']).toBe(3 + 1);
    expect(await bench.waiters('a')).toEqual([]);
  });

  it('uses the default of its service, and none for tryAcquire', async () => {
    const [holder, other] = [await bench.service(), await bench.service({ defaults: { waitTimeout: 80 } })];
    await holder.acquire('a');
    const { error, took, ran } = await timed(() => other.acquire('a'));
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', key: 'a' });
    expect(took).toBeGreaterThanOrEqual(80);
    expect(ran).toBeLessThan(80 + AT_ONCE);
    await bench.redis.resetCommandStats();
    expect(await other.tryAcquire('a')).toBeNull();
    expect((await bench.redis.commandStats())['evalsha']).toBe(1);
  });
});

describe('an aborted wait', () => {
  const reason = new Error('the client has gone');

  it('does not begin if its signal has aborted already', async () => {
    const service = await bench.service();
    await bench.redis.resetCommandStats();
    await expect(service.acquire('a', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(service.tryAcquire('a', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const task = () => 'never';
    await expect(service.run('a', task, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    expect((await bench.redis.commandStats())['evalsha']).toBeUndefined();
  });

  it('is not ended by a signal that aborts once the lock is held', async () => {
    const service = await bench.service();
    const controller = new AbortController();
    const lock = await service.acquire('a', { signal: controller.signal });
    controller.abort();
    await lock.verify();
    expect(lock.signal.aborted).toBe(false);
    expect(await lock.release()).toBe(true);
  });
});

describe('a handoff', () => {
  it('takes at most grantTimeout if the next waiter crashes at the moment of the grant', async () => {
    const options = { renewedLease: '30s', grantTimeout: 400 } as const;
    const [holder, doomed, last] = [
      await bench.service(options),
      await bench.worker(options),
      await bench.service(options),
    ];
    const lock = await holder.acquire('a');
    void doomed.acquire('a').catch(() => undefined);
    await bench.untilWaiting('a', 1);
    doomed.process.pause(); // its subscription stands, so it counts as present
    const acquisition = last.acquire('a');
    await bench.untilWaiting('a', 2);
    const since = now();
    await lock.release();
    await doomed.process.kill();
    expect((await acquisition).isHeld).toBe(true);
    expect(between(since)).toBeLessThan(400 + AT_ONCE);
  });
});
