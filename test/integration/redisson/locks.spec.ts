import { afterEach, describe, expect, it } from '@jest/globals';
import { redisson } from 'nestjs-redis-locks/redisson';
import { SCRIPTS } from '../../../lib/redisson/scripts.generated.js';
import { aborted, AT_ONCE, LockBench, timed } from '../../../lab/testbed/locks/locks.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

const bench = new LockBench();
const service = (options = {}) => bench.service({ protocol: redisson(), ...options });

/** What Redisson does at the last `unlock()` of a thread. */
const unlockAsJava = (name: string): Promise<unknown> =>
  bench.redis.admin.multi().del(name).publish(`redisson_lock__channel:{${name}}`, '0').exec();

/** What Redisson does at the first `lock()` of a thread. */
const lockAsJava = (name: string, lease = 30_000): Promise<unknown> =>
  bench.redis.admin.multi().hset(name, 'java:1', 1).pexpire(name, lease).exec();

const subscribersOf = (name: string): Promise<number> => bench.subscribers(`redisson_lock__channel:{${name}}`);

describe('an RLock', () => {
  it('is a hash of the bare name with one field, the client and the number of the acquisition, and a count of 1', async () => {
    const locks = await service();
    const lock = await locks.acquire('orders');
    expect(await bench.redis.admin.hgetall('orders')).toEqual({ [lock.owner]: '1' });
    expect(lock.owner).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}:\d+$/);
    const left = await bench.redis.admin.pttl('orders');
    expect(left).toBeGreaterThan(20_000);
    expect(left).toBeLessThanOrEqual(30_000);
    await lock.release();
    expect(await bench.redis.admin.keys('*')).toEqual([]);
    const next = await locks.acquire('orders');
    expect(next.owner).not.toBe(lock.owner);
    await next.release();
  });

  it('has no fencing token, and the handle says so', async () => {
    const lock = await (await service()).acquire('orders');
    expect(() => lock.fencingToken).toThrow(/no fencing token.*redisson\(\{ fenced: true \}\)/);
    expect(lock.fencingTokens.size).toBe(0);
    expect(JSON.parse(JSON.stringify(lock))).toEqual({ key: 'orders', owner: lock.owner, isHeld: true });
    await lock.release();
  });

  it('excludes a client of Redisson, and is excluded by it', async () => {
    const locks = await service();
    await lockAsJava('orders');
    expect(await locks.tryAcquire('orders')).toBeNull();
    await unlockAsJava('orders');
    const lock = await locks.tryAcquire('orders');
    expect(lock?.isHeld).toBe(true);
    await lock!.release();
  });

  it('wakes waiters of Redisson by its channel, once for each release', async () => {
    const locks = await service();
    const messages = await bench.messages('redisson_lock__channel:{orders}', 'redisson_lock__channel:a{b}');
    for (const key of ['orders', 'a{b}']) await (await locks.acquire(key)).release();
    await eventually(() => messages.length >= 2);
    expect(messages).toEqual(['redisson_lock__channel:{orders} 0', 'redisson_lock__channel:a{b} 0']);
  });

  it('is woken by a release of Redisson, long before it would retry', async () => {
    const locks = await service();
    await lockAsJava('orders');
    const waiting = locks.acquire('orders', { waitTimeout: '60s' });
    await eventually(async () => (await subscribersOf('orders')) === 1);
    const { ran, value } = await timed(async () => {
      await unlockAsJava('orders');
      return waiting;
    });
    expect(ran).toBeLessThan(AT_ONCE);
    await value!.release();
  });

  it('serves the waiters of a process in order, with one attempt for each message', async () => {
    const locks = await service();
    await lockAsJava('orders');
    const order: number[] = [];
    const waiting = Array.from({ length: 10 }, (_, i) => locks.run('orders', () => void order.push(i)));
    await eventually(async () => (await subscribersOf('orders')) === 1);
    const before = await callsOf('evalsha');
    for (let i = 0; i < 20; i++) await bench.redis.admin.publish('redisson_lock__channel:{orders}', '0');
    await eventually(async () => (await callsOf('evalsha')) >= before + 1);
    expect((await callsOf('evalsha')) - before).toBeLessThanOrEqual(20);
    await unlockAsJava('orders');
    await Promise.all(waiting);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('a forced release ends the hold of either side, and tells a client of this library at once', async () => {
    const [locks, other] = await bench.serviceList(2, { protocol: redisson() });
    const lock = await locks!.acquire('orders');
    expect(await other!.forceRelease('orders')).toBe(true);
    const { ran } = await timed(() => aborted(lock.signal));
    expect(ran).toBeLessThan(AT_ONCE);
    await lockAsJava('orders');
    expect(await other!.forceRelease('orders')).toBe(true);
    expect(await bench.redis.admin.exists('orders')).toBe(0);
    expect(await other!.forceRelease('orders')).toBe(false);
  });

  it('inspect shows the holder of either side', async () => {
    const locks = await service();
    expect(await locks.inspect('orders')).toBeNull();
    await lockAsJava('orders');
    const info = await locks.inspect('orders');
    expect(info).toMatchObject({ owner: 'java:1', holds: 1, fencingToken: 0, waiters: [] });
    expect(info!.holders[0]).toMatchObject({ client: 'java', kind: 'exclusive' });
    expect(info!.holders[0]!.since.getTime()).toBeNaN();
    expect(info!.ttl).toBeGreaterThan(20_000);
    await unlockAsJava('orders');
  });

  it('a wait that ends leaves nothing behind', async () => {
    const locks = await service();
    await lockAsJava('orders');
    await expect(locks.acquire('orders', { waitTimeout: 50 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      message: expect.stringMatching(/Holder: client java, its lease ends in \d+ ms unless renewed\./) as unknown,
    });
    await unlockAsJava('orders');
    await eventually(async () => (await bench.redis.admin.keys('orders*')).length === 0);
    await (await locks.acquire('orders')).release();
  });

  it.each(['acquire', 'acquireFair'] as const)(
    'a command of %s that arrives again does not shorten a longer lease',
    async (script) => {
      const ask = (lease: number): Promise<unknown> =>
        bench.redis.admin.eval(SCRIPTS[script].source, 2, 'orders', 'latch', 'me:1', lease, '0', '0', 'single');
      await ask(20_000);
      await ask(5_000);
      expect(await bench.redis.admin.pttl('orders')).toBeGreaterThan(10_000);
      await bench.redis.admin.del('orders');
    },
  );

  it('does not treat a lock without a TTL as an ended lock', async () => {
    const locks = await service();
    const lock = await locks.acquire('orders');
    await bench.redis.admin.persist('orders');
    await lock.verify();
    expect(await bench.redis.admin.exists('orders')).toBe(1);
    await lock.release();
  });
});

describe('an RFencedLock', () => {
  const COUNTER = 'redisson_lock_token:{orders}';
  afterEach(() => bench.redis.admin.del(COUNTER));
  const microseconds = async (): Promise<number> => {
    const [seconds, rest] = await bench.redis.admin.time();
    return Number(seconds) * 1e6 + Number(rest);
  };

  it('counts on from the counter that Redisson uses', async () => {
    const locks = await service({ protocol: redisson({ fenced: true }) });
    // What Redisson leaves behind if its INCR comes after tokens of a server whose clock is ahead.
    const ahead = (await microseconds()) + 1e9;
    await bench.redis.admin.set(COUNTER, ahead);
    const lock = await locks.acquire('orders');
    expect(lock.fencingToken).toBe(ahead + 1);
    expect((await locks.inspect('orders'))!.fencingToken).toBe(ahead + 1);
    await lock.release();
    expect(await bench.redis.admin.get(COUNTER)).toBe(String(ahead + 1));
    expect(await bench.redis.admin.pttl(COUNTER)).toBe(-1);
  });

  it('its tokens keep growing when a failover has lost the latest of them', async () => {
    const locks = await service({ protocol: redisson({ fenced: true }) });
    await bench.redis.admin.set(COUNTER, 41);
    const before = await locks.acquire('orders');
    expect(before.fencingToken).toBeLessThanOrEqual(await microseconds());
    // What the new master has if the last write did not reach it.
    await bench.redis.admin.multi().del('orders').set(COUNTER, 41).exec();
    const after = await locks.acquire('orders');
    expect(after.fencingToken).toBeGreaterThan(before.fencingToken);
    expect(await bench.redis.admin.get(COUNTER)).toBe(String(after.fencingToken));
    await after.release();
  });
});

describe('a name mapper', () => {
  it('names the hash and all that is derived from it', async () => {
    const locks = await service({ protocol: redisson({ nameMapper: (key) => `shop:${key}` }) });
    const lock = await locks.acquire('orders');
    expect(await bench.redis.admin.keys('*')).toEqual(['shop:orders']);
    await lock.release();
  });
});

describe('a lost reply', () => {
  it.each(['acquire', 'release'] as const)('to %s leaves neither a count of 2 nor a lock', async (which) => {
    const proxy = await bench.proxy();
    const locks = await service({ connection: proxy.url, commandTimeout: 1_000 });
    await (await locks.acquire('warm')).release();
    const name = (command: { name: string; args: readonly string[] }): boolean =>
      command.name === 'evalsha' && command.args.includes('orders');
    if (which === 'acquire') proxy.cutAfterCommand(name);
    const lock = await locks.acquire('orders', { waitTimeout: '30s' });
    expect(await bench.redis.admin.hvals('orders')).toEqual(['1']);
    if (which === 'release') proxy.cutAfterCommand(name);
    expect(await lock.release()).toBe(true);
    expect(await bench.redis.admin.exists('orders')).toBe(0);
  });
});

async function callsOf(command: string): Promise<number> {
  const stats = await bench.redis.admin.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}
