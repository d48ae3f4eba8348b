import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { abortOf, FaultLocks, nothingLeftBehind, redisKey, timed } from '../../../lab/testbed/locks/fault-locks.js';
import { AT_ONCE } from '../../../lab/testbed/locks/locks.js';
import { useRedis } from '../../../lab/testbed/locks/fault-setups.js';
import type { RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';

/** Renewals go on while the machine holds this process up for half a second. */
const LEASE = 1_000;

let redis: RedisServer;
const locks = new FaultLocks();

useRedis(locks, (started) => (redis = started));

const renewalsOf = (token: number): number =>
  locks.told('renewed').filter(({ fencingToken }) => fencingToken === token).length;

describe('renewal', () => {
  it.each([
    ['deleted', () => redis.admin.del(redisKey('state', 'a'))],
    ['freed by force', async () => locks.start(redis.url).then((service) => service.forceRelease('a'))],
  ])('renews a key that was %s and acquired again, and not the old hold', async (_, lose) => {
    const service = await locks.start(redis.url, { renewedLease: LEASE });
    const first = await service.acquire('a');
    const aborted = abortOf(first.signal);
    await lose();
    await aborted;
    const second = await service.acquire('a');
    const renewedBefore = renewalsOf(first.fencingToken);
    await eventually(() => renewalsOf(second.fencingToken) >= 3);
    expect(second.isHeld).toBe(true);
    expect(renewalsOf(first.fencingToken)).toBe(renewedBefore);
    // The late release of the old hold neither ends the new one nor its renewals.
    expect(await first.release()).toBe(false);
    const renewals = renewalsOf(second.fencingToken);
    await eventually(() => renewalsOf(second.fencingToken) >= renewals + 2);
    await second.verify();
    expect(await second.release()).toBe(true);
    await nothingLeftBehind(redis);
  });

  it('renews a key that was acquired again before its loss was noticed', async () => {
    const service = await locks.start(redis.url, { renewedLease: LEASE });
    const first = await service.acquire('a', { owner: 'one' });
    await redis.admin.del(redisKey('state', 'a'));
    const second = await service.acquire('a', { owner: 'two' });
    await abortOf(first.signal);
    await eventually(() => renewalsOf(second.fencingToken) >= 3);
    expect(second.isHeld).toBe(true);
    await second.verify();
    expect(await first.release()).toBe(false);
    expect(await second.release()).toBe(true);
  });

  it('continues after temporary refusals on the same connection', async () => {
    const service = await locks.start(redis.url, { renewedLease: 1_200 });
    const handle = await service.acquire('a');
    await eventually(() => renewalsOf(handle.fencingToken) === 1);
    const [state, aside] = [redisKey('state', 'a'), redisKey('state', 'aside')];
    await redis.admin.rename(state, aside);
    await redis.admin.set(state, 'of another program', 'PX', 1_000);
    const refusals = () => locks.lines.filter(({ text }) => text.includes("could not renew 'a'")).length;
    await eventually(() => refusals() > 0);
    await redis.resetCommandStats();
    await eventually(async () => ((await redis.commandStats())['evalsha'] ?? 0) >= 3);
    // The same reason is logged once.
    expect(refusals()).toBe(1);
    await redis.admin.rename(aside, state);
    await eventually(() => renewalsOf(handle.fencingToken) >= 4);
    handle.assertHeld();
    expect(await handle.release()).toBe(true);
    await nothingLeftBehind(redis);
  });
});

describe('a holder is notified of a loss', () => {
  it('by its signal, its listener, an event and one log line, once each', async () => {
    const service = await locks.start(redis.url, { renewedLease: LEASE });
    const heard: unknown[][] = [];
    const handle = await service.acquire('a', { onLost: (...args) => heard.push(args) });
    const reasons: unknown[] = [];
    handle.signal.addEventListener('abort', () => reasons.push(handle.signal.reason));
    await redis.admin.del(redisKey('state', 'a'));
    await abortOf(handle.signal);
    // Gives every other source of a second notification its time.
    await handle.release();
    await eventually(async () => (await redis.admin.ping()) === 'PONG' && locks.told('lost').length > 0);
    expect(reasons).toEqual([expect.objectContaining({ code: 'LOCK_LOST', key: 'a', name: 'LockLostError' })]);
    expect(heard).toEqual([[reasons[0], handle]]);
    expect(locks.told('lost')).toEqual([expect.objectContaining({ key: 'a', fencingToken: handle.fencingToken })]);
    expect(locks.lines.filter(({ level }) => level === 'warn')).toEqual([
      { level: 'warn', text: expect.stringContaining("'a'") },
    ]);
  });
});

describe('a service that has not been started', () => {
  it('locks nevertheless: sections never overlap, and waiters are served', async () => {
    const services = [locks.make(redis.url), locks.make(redis.url)];
    let [running, most, served] = [0, 0, 0];
    const section = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await redis.admin.ping();
      running -= 1;
      served += 1;
    };
    const options = { expire: 600, waitTimeout: 8_000 };
    await Promise.all(Array.from({ length: 6 }, (_, i) => services[i % 2]!.run('a', section, options)));
    expect({ most, served }).toEqual({ most: 1, served: 6 });
    expect(await services[0]!.tryAcquire('b')).not.toBeNull();
    expect(await services[1]!.tryAcquire('b')).toBeNull();
  });

  it('serves a waiter by pushed grants once it is started', async () => {
    const [one, late] = [await locks.start(redis.url), locks.make(redis.url)];
    const handle = await one.acquire('a');
    const waiting = late.acquire('a');
    await eventually(() => locks.told('contended').length > 0);
    await late.start();
    await eventually(async () => (await one.inspect('a'))?.waiters.length === 1);
    const since = performance.now();
    await handle.release();
    expect(await (await waiting).release()).toBe(true);
    expect(performance.now() - since).toBeLessThan(AT_ONCE);
  });

  it('never runs a task without its lock: neither before Redis is up, nor after the service has been closed', async () => {
    const [task, ran] = [(): void => void ran.push('ran'), [] as string[]];
    const nowhere = locks.make('redis://127.0.0.1:1', { commandTimeout: 200 });
    expect((await timed(nowhere.run('a', task))).error).toMatchObject({ code: 'LOCK_STORE' });
    const closed = await locks.start(redis.url);
    await closed.close();
    expect((await timed(closed.run('a', task))).error).toMatchObject({ code: 'LOCK_STORE' });
    expect((await timed(closed.tryAcquire('a'))).error).toMatchObject({ code: 'LOCK_STORE' });
    expect(ran).toEqual([]);
  });
});
