import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { isLockTimeoutError } from 'nestjs-redis-locks/client';
import type { LockService } from 'nestjs-redis-locks';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { AT_ONCE, between, LockBench, timed } from '../../../lab/testbed/locks/locks.js';
import { now } from '../../../lab/testbed/history/history.js';

const bench = new LockBench();

/** Whether a command runs a script that acquires: these scripts have the lock's keys, and answer with a code. */
const isScript = ({ name }: { name: string }): boolean => name === 'evalsha' || name === 'eval';

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

  it('ends while the reply of Redis is on its way, and a grant is released', async () => {
    const proxy = await bench.proxy();
    const [slow, other] = [await bench.service({ connection: proxy.url }), await bench.service()];
    const controller = new AbortController();
    proxy.holdReplies();
    const asked = proxy.seen(isScript);
    const acquisition = slow.acquire('a', { signal: controller.signal });
    acquisition.catch(() => undefined);
    await asked;
    await eventually(async () => (await other.inspect('a'))?.holds === 1);
    controller.abort(reason);
    await expect(acquisition).rejects.toBe(reason);
    proxy.heal();
    expect((await other.acquire('a')).isHeld).toBe(true);
  });

  it('passes on the lock if it ends at the moment of the grant', async () => {
    const proxy = await bench.proxy();
    const [holder, last] = await bench.serviceList(2);
    const middle = await bench.service({ connection: proxy.url });
    const lock = await holder!.acquire('a');
    const controller = new AbortController();
    const abandoned = await queueUp(middle, 'a', { signal: controller.signal });
    const { acquisition } = await queueUp(last!, 'a');

    proxy.holdReplies(); // the grant is on its way
    await lock.release();
    expect(await last!.inspect('a')).toMatchObject({ holds: 1, waiters: [{}] });
    const since = performance.now();
    controller.abort(reason);
    await expect(abandoned.acquisition).rejects.toBe(reason);
    expect((await acquisition).isHeld).toBe(true);
    expect(performance.now() - since).toBeLessThan(AT_ONCE); // far from the 3 s that a grant lasts
    proxy.heal();
    await (await acquisition).verify();
  });

  it('leaves its place to the next waiter in the same process', async () => {
    const [holder, crowd, other] = await bench.serviceList(3);
    const lock = await holder!.acquire('a');
    const controller = new AbortController();
    const first = await queueUp(crowd!, 'a', { signal: controller.signal });
    const second = crowd!.acquire('a');
    const { acquisition: last } = await queueUp(other!, 'a');
    const order: string[] = [];
    const served = [second.then(() => order.push('second')), last.then(() => order.push('last'))];
    controller.abort(reason);
    await expect(first.acquisition).rejects.toBe(reason);
    await lock.release();
    await served[0];
    await (await second).release();
    await served[1];
    expect(order).toEqual(['second', 'last']);
  });
});

describe('a waiter that crashes', () => {
  it.each([
    ['alone', 0],
    ['with another of the same client behind it', 1],
  ])('150 at once are skipped at once, by a holder that is %s', async (_, behind) => {
    const [holder, last] = await bench.serviceList(2);
    const doomed = await bench.worker({}, 150);
    const lock = await holder!.acquire('a');
    await doomed.process.call('acquireEach', 'a', { waitTimeout: Infinity });
    await bench.untilWaiting('a', 150);
    const { acquisition } = await queueUp(last!, 'a');
    for (let i = 0; i < behind; i++) holder!.acquire('a').catch(() => undefined);
    await doomed.process.kill();
    await eventually(async () => (await bench.redis.admin.pubsub('CHANNELS', 'lock:*')).length === 2);
    const released = now();
    await lock.release();
    expect((await acquisition).isHeld).toBe(true);
    expect(between(released)).toBeLessThan(AT_ONCE);
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

  it('finds a grant that arrives before the reply to its request', async () => {
    const proxy = await bench.proxy();
    const [holder, waiter] = [await bench.service(), await bench.service({ connection: proxy.url })];
    const lock = await holder.acquire('a');
    proxy.holdReplies(({ isSubscriber }) => !isSubscriber);
    const acquisition = timed(() => waiter.acquire('a'));
    await bench.untilWaiting('a', 1);
    await lock.release();
    await eventually(async () => (await holder.inspect('a'))?.holds === 1);
    proxy.heal();
    const { value, ran } = await acquisition;
    expect(ran).toBeLessThan(2 * AT_ONCE);
    await value!.verify();
  });
});
