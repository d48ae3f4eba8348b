import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { FaultLocks, timed } from '../../../lab/testbed/locks/fault-locks.js';
import { AT_ONCE } from '../../../lab/testbed/locks/locks.js';
import { useRedis } from '../../../lab/testbed/locks/fault-setups.js';
import type { RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';

let redis: RedisServer;
const locks = new FaultLocks();

useRedis(locks, (started) => (redis = started));

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
