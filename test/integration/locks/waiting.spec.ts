import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { isLockTimeoutError } from 'nestjs-redis-locks/client';
import type { LockService } from 'nestjs-redis-locks';
import { now } from '../../../lab/testbed/history/history.js';
import { AT_ONCE, between, LockBench, timed } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

/** Resolves once a service has a place in the queue; its acquisition continues. */
async function queueUp(service: LockService, key: string, options = {}) {
  const before = (await bench.waiters(key)).length;
  const acquisition = service.acquire(key, options);
  acquisition.catch(() => undefined);
  await bench.untilWaiting(key, before + 1);
  return { acquisition };
}

describe('a wait with a limit', () => {
  it('of 3 s takes 3 s and little more, even when Redis answers slowly', async () => {
    const [holder, prompt] = [await bench.service(), await bench.service()];
    const proxy = await bench.proxy();
    const slow = await bench.service({ connection: proxy.url });
    proxy.delay({ request: 120, reply: 120 });
    await holder.acquire('a');
    const tries = [prompt, slow].map((service) => timed(() => service.getLock('a').tryLock('3s')));
    for (const { value, took, ran } of await Promise.all(tries)) {
      expect(value).toBeNull();
      expect(took).toBeGreaterThanOrEqual(3_000);
      expect(ran).toBeLessThan(3_000 + AT_ONCE);
    }
  });

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

  it('of 0 does not overtake waiters', async () => {
    const [holder, waiter, other] = await bench.serviceList(3);
    const lock = await holder!.acquire('a');
    const { acquisition } = await queueUp(waiter!, 'a');
    const tries = await Promise.all([lock.release(), holder!.tryAcquire('a'), other!.tryAcquire('a')]);
    expect(tries).toEqual([true, null, null]);
    expect((await acquisition).isHeld).toBe(true);
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

  it('ends without taking the lock from a holder in the same service', async () => {
    const [service, other] = await bench.serviceList(2);
    const lock = await service!.acquire('a');
    for (const options of [{ waitTimeout: 100 }, { waitTimeout: 0 }, { waitTimeout: 100, owner: 'me' }]) {
      expect(await service!.tryAcquire('a', options)).toBeNull();
    }
    expect(await other!.tryAcquire('a')).toBeNull();
    await lock.verify();
    expect(await bench.waiters('a')).toEqual([]);
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

describe('the step from a failed try into the queue', () => {
  it('loses no handoff, whenever the release happens', async () => {
    const [holder, waiter] = [await bench.service(), await bench.service()];
    for (let round = 0; round < 300; round++) {
      const lock = await holder.acquire('a');
      const acquisition = timed(() => waiter.acquire('a'));
      if (round % 2 === 0) await sleep(Math.random() * 2);
      else for (let i = round % 20; i > 0; i--) await Promise.resolve();
      await lock.release();
      const { value, ran } = await acquisition;
      expect(ran).toBeLessThan(AT_ONCE); // and not a lease of 30 s
      await value!.release();
    }
  });
});

describe('a handoff', () => {
  const lease = 1_000;

  it('takes a lease and a little at most when the holder is killed that was just handed the lock', async () => {
    const options = { renewedLease: lease };
    const [first, doomed, waiter] = [await bench.service(options), await bench.worker(options), await bench.worker()];
    const lock = await first.acquire('a');
    const second = doomed.acquire('a');
    await bench.untilWaiting('a', 1);
    const third = waiter.acquire('a');
    await bench.untilWaiting('a', 2);
    await lock.release();
    await second;
    await doomed.process.kill();
    const killed = now();
    expect(between(killed, (await third).at)).toBeLessThan(lease + AT_ONCE);
  });

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
