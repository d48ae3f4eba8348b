import { expect, it } from '@jest/globals';
import type { LockService } from 'nestjs-redis-locks';
import { aborted } from '../../lab/testbed/locks/locks.js';
import { RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { besideRedisson, isFull, LATE, LEASE } from './sides.js';

const SECTIONS = isFull ? 2_000 : 200;
const CHANNEL = 'redisson_sc:{pool}';

besideRedisson((sides) => {
  const a = <T = string>(command: string, ...args: Array<string | number>): Promise<T> =>
    sides.java.on('a')<T>(command, 'pool', ...args);
  const pool = (locks: LockService) => locks.getSemaphore('pool', { permits: 2 });

  it.each(['semaphore', 'expirable'])('never more holders than permits: %s', async (kind) => {
    const permits = pool(await sides.service());
    expect(await a(`${kind}.trySetPermits`, 2)).toBe(true);
    const each = SECTIONS / 4;
    const section = async (): Promise<void> => {
      expect(await sides.redis.admin.incr('inside')).toBeLessThanOrEqual(2);
      await sides.redis.admin.decr('inside');
    };
    await Promise.all([
      ...['a', 'b'].map((thread) => sides.java.on(thread)(`${kind}.sections`, 'pool', 'inside', each)),
      ...[0, 1].map(async () => {
        for (let i = 0; i < each; i++) await permits.run(section, { waitTimeout: Infinity });
      }),
    ]);
    expect(await sides.redis.admin.get('pool')).toBe('2');
  });

  it.each(['semaphore', 'expirable'])('each side waits for permits of the other: %s', async (kind) => {
    const locks = await sides.service();
    const both = await pool(locks).acquire(2);
    expect(await a('semaphore.available')).toBe('0');
    const javaWaits = a(`${kind}.acquire`);
    await eventually(async () => (await sides.subscribersOf(CHANNEL)) === 1);
    await pool(locks).release(both);
    const permit = await javaWaits;
    const one = await pool(locks).acquire(1);
    expect(await pool(locks).tryAcquire()).toBeNull();
    const weWait = pool(locks).acquire(1, { waitTimeout: LATE });
    expect(await a(`${kind}.release`, permit)).not.toBe(false);
    for (const each of [one, await weWait]) await pool(locks).release(each);
    expect(await a('semaphore.available')).toBe('2');
  });

  it('permits of a crashed client here come back to an RPermitExpirableSemaphore within the lease', async () => {
    const proxy = await RespProxy.start(sides.redis);
    try {
      const crashing = await sides.service({ connection: proxy.url, renewedLease: LEASE });
      const both = await pool(crashing).acquire(2);
      const told = aborted(both.signal);
      proxy.dropRequests();
      expect(await a('expirable.tryAcquire', LEASE + LATE, -1)).not.toBe('null');
      expect(both.isHeld).toBe(false);
      await told;
    } finally {
      proxy.heal();
      proxy.disconnect();
    }
  });

  it('permits of Redisson whose lease ends come back here', async () => {
    const locks = await sides.service();
    await a('expirable.trySetPermits', 2);
    expect(await a('expirable.tryAcquire', 0, LEASE)).not.toBe('null');
    expect(await pool(locks).tryAcquire(2)).toBeNull();
    await pool(locks).release(await pool(locks).acquire(2, { waitTimeout: LEASE + LATE }));
  });

  it('a permit of Redisson is seen here, and a forced release ends it', async () => {
    const locks = await sides.service();
    const own = await pool(locks).acquire(1);
    const permit = await a('expirable.acquire');
    expect((await locks.inspect('pool'))!.holders.map(({ id }) => id).sort()).toEqual([own.owner, permit].sort());
    expect(await locks.forceRelease('pool', { hold: permit })).toBe(true);
    expect(await a('expirable.release', permit)).toBe(false);
    expect(await own.release()).toBe(true);
  });
});
