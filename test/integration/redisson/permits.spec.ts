import type { LockService } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { RedissonStore } from '../../../lib/redisson/redisson-store.js';
import { StagedStore } from '../../../lib/testing/contract/stage.js';
import { aborted, endAtOnce, LockBench, eventually } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench({ defaults: { protocol: redisson() } });
let locks: LockService;
beforeEach(async () => {
  locks = await bench.service();
});
const CHANNEL = 'redisson_sc:{pool}';
const TIMEOUTS = '{pool}:timeout';
const free = async (): Promise<number> => Number(await bench.redis.admin.get('pool'));
const listening = async (): Promise<boolean> => (await bench.subscribers(CHANNEL)) > 0;

describe('a semaphore', () => {
  it('is an integer and a sorted set with one member for each permit', async () => {
    const pool = locks.getSemaphore('pool', { permits: 3 });
    const two = await pool.acquire(2);
    expect(await free()).toBe(1);
    expect(await bench.redis.admin.zrange(TIMEOUTS, '0', '-1')).toEqual([`${two.owner}:1`, `${two.owner}:2`]);
    const ends = Number((await bench.redis.admin.zrange(TIMEOUTS, '0', '0', 'WITHSCORES'))[1]);
    const now = await bench.redis.time();
    expect(ends - now).toBeGreaterThan(20_000);
    expect(ends - now).toBeLessThan(32_000);
    expect(await pool.availablePermits()).toBe(1);
    expect(await pool.tryAcquire(2)).toBeNull();
    await pool.release(two);
    expect(await free()).toBe(3);
    expect(await bench.redis.admin.exists(TIMEOUTS)).toBe(0);
    expect(await pool.getPermits()).toBe(3);
  });

  it('has the number of permits that Redisson has set', async () => {
    await bench.redis.admin.set('pool', 1);
    const pool = locks.getSemaphore('pool', { permits: 3 });
    const one = await pool.acquire();
    expect(await pool.tryAcquire()).toBeNull();
    expect(await pool.getPermits()).toBe(1);
    await pool.release(one);
  });

  it('grants one slot to a request for several', async () => {
    const { url: connection } = bench.redis;
    const nameMapper = (key: string): string => key;
    const options = { connection, keyPrefix: 'lock', commandTimeout: 2_000, renewedLease: 30_000, nameMapper };
    const store = new RedissonStore({ ...options, fenced: false }, console);
    await store.start();
    try {
      const mode = { kind: 'permits', units: 2, limit: 9 } as const;
      const request = new StagedStore(store).request('pool', { mode, slots: 2 });
      for (let i = 0; i < 2; i++) {
        const reply = await store.acquire(request);
        expect(reply).toMatchObject({ outcome: 'held' });
        expect(reply).not.toHaveProperty('units');
        expect(await free()).toBe(7);
      }
      await store.release({ key: 'pool', id: request.id, tombstoneFor: 0, keep: 0, next: undefined });
      expect(await free()).toBe(9);
    } finally {
      await store.close();
    }
  });

  it('is woken by a release of Redisson, as many waiters as permits are free', async () => {
    await bench.redis.admin.set('pool', 0);
    const pool = locks.getSemaphore('pool', { permits: 3 });
    const waiting = [0, 1].map(() => pool.acquire(1, { waitTimeout: '60s' }));
    await eventually(listening);
    const permits = await endAtOnce(Promise.all(waiting), () =>
      bench.redis.admin.multi().incrby('pool', 2).publish(CHANNEL, '2').exec(),
    );
    await Promise.all(permits.map((permit) => pool.release(permit)));
    expect(await free()).toBe(2);
  });

  it('requests for one permit do not pass a request of their process for two', async () => {
    const pool = locks.getSemaphore('pool', { permits: 2 });
    let contended = 0;
    locks.events.subscribe(({ type }) => (contended += Number(type === 'contended')));
    const first = [await pool.acquire(), await pool.acquire()];
    const order: string[] = [];
    const wait = async (units: number, name: string): Promise<void> => {
      const permits = await pool.acquire(units, { waitTimeout: '60s' });
      order.push(name);
      await pool.release(permits);
    };
    const two = wait(2, 'two');
    await eventually(() => contended === 1);
    const ones = [wait(1, 'one'), wait(1, 'one'), wait(1, 'one')];
    expect(await pool.tryAcquire()).toBeNull();
    await pool.release(first[0]!);
    expect(await pool.tryAcquire()).toBeNull();
    await pool.release(first[1]!);
    await Promise.all([two, ...ones]);
    expect(order).toEqual(['two', 'one', 'one', 'one']);
    expect(await free()).toBe(2);
  });

  it('publishes how many permits are free', async () => {
    const messages = await bench.messages(CHANNEL);
    const pool = locks.getSemaphore('pool', { permits: 3 });
    const [one, two] = [await pool.acquire(), await pool.acquire(2)];
    await pool.release(one);
    await pool.release(two);
    await eventually(() => messages.length >= 3);
    expect(messages).toEqual(['3', '1', '3'].map((permits) => `${CHANNEL} ${permits}`));
  });

  it('gives the permits of a crashed client back when their lease ends, and a waiter comes for them', async () => {
    await bench.redis.admin.set('pool', 0);
    await bench.redis.admin.zadd(TIMEOUTS, (await bench.redis.time()) + 1_500, 'of another client');
    const pool = locks.getSemaphore('pool', { permits: 1 });
    const permit = await pool.acquire(1, { waitTimeout: '60s' });
    expect(await bench.redis.admin.zrange(TIMEOUTS, '0', '-1')).toEqual([`${permit.owner}:1`]);
    await pool.release(permit);
  });

  it('renews the leases of its permits, and notices that they were taken away', async () => {
    const pool = (await bench.service({ renewedLease: 1_000 })).getSemaphore('pool', { permits: 2 });
    const permits = await pool.acquire(2);
    const first = Number(await bench.redis.admin.zscore(TIMEOUTS, `${permits.owner}:2`));
    await eventually(
      async () => Number(await bench.redis.admin.zscore(TIMEOUTS, `${permits.owner}:2`)) > first + 1_000,
    );
    await permits.verify();
    await bench.redis.admin.del(TIMEOUTS);
    await aborted(permits.signal);
  });

  it('extend sets the lease of all permits of a hold', async () => {
    const pool = locks.getSemaphore('pool', { permits: 2 });
    const permits = await pool.acquire(2, { expire: '5s' });
    await permits.extend('2m');
    const [, one, , other] = await bench.redis.admin.zrange(TIMEOUTS, '0', '-1', 'WITHSCORES');
    expect(one).toBe(other);
    expect(Number(one) - Date.now()).toBeGreaterThan(60_000);
    await pool.release(permits);
  });

  it('inspect shows the permits of both sides, and a forced release ends one of them', async () => {
    const pool = locks.getSemaphore('pool', { permits: 3 });
    const own = await pool.acquire(1);
    const java = Buffer.from('00ff10203040506070809a0b0c0d0e0f', 'hex');
    await bench.redis.admin.multi().decr('pool').zadd(TIMEOUTS, 922337203685477, java).exec();
    const info = await locks.inspect('pool');
    expect(info!.holders.map(({ id }) => id).sort()).toEqual([java.toString('hex'), own.owner].sort());
    expect(await pool.availablePermits()).toBe(1);
    expect(await locks.forceRelease('pool', { hold: java.toString('hex') })).toBe(true);
    expect(own.isHeld).toBe(true);
    expect(await free()).toBe(2);
    expect(await locks.forceRelease('pool')).toBe(true);
    await aborted(own.signal);
    expect(await free()).toBe(3);
  });
});
