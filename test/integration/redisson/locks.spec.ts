import type { LockService } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { SCRIPTS } from '../../../lib/redisson/scripts.generated.js';
import { endAtOnce, LockBench, eventually } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench({ defaults: { protocol: redisson() } });
let locks: LockService;
beforeEach(async () => {
  locks = await bench.service();
});

/** What Redisson does at the last `unlock()` of a thread. */
const unlockAsJava = (name: string): Promise<unknown> =>
  bench.redis.admin.multi().del(name).publish(`redisson_lock__channel:{${name}}`, '0').exec();

/** What Redisson does at the first `lock()` of a thread. */
const lockAsJava = (name: string, lease = 30_000): Promise<unknown> =>
  bench.redis.admin.multi().hset(name, 'java:1', 1).pexpire(name, lease).exec();

const subscribersOf = (name: string): Promise<number> => bench.subscribers(`redisson_lock__channel:{${name}}`);

describe('an RLock', () => {
  it('is a hash of the bare name with one field, the client and the number of the acquisition, and a count of 1', async () => {
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
    const lock = await locks.acquire('orders');
    expect(() => lock.fencingToken).toThrow(/no fencing token.*redisson\(\{ fenced: true \}\)/);
    expect(lock.fencingTokens.size).toBe(0);
    expect(JSON.parse(JSON.stringify(lock))).toEqual({ key: 'orders', owner: lock.owner, isHeld: true });
    await lock.release();
  });

  it('wakes waiters of Redisson by its channel, once for each release', async () => {
    const messages = await bench.messages('redisson_lock__channel:{orders}', 'redisson_lock__channel:a{b}');
    for (const key of ['orders', 'a{b}']) await (await locks.acquire(key)).release();
    await eventually(() => messages.length >= 2);
    expect(messages).toEqual(['redisson_lock__channel:{orders} 0', 'redisson_lock__channel:a{b} 0']);
  });

  it('is woken by a release of Redisson, long before it would retry', async () => {
    await lockAsJava('orders');
    const waiting = locks.acquire('orders', { waitTimeout: '60s' });
    await eventually(async () => (await subscribersOf('orders')) === 1);
    await (await endAtOnce(waiting, () => unlockAsJava('orders'))).release();
  });

  it('inspect shows the holder of either side', async () => {
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
    await lockAsJava('orders');
    await expect(locks.acquire('orders', { waitTimeout: 50 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      message: expect.stringMatching(/Holder: client java, its lease ends in \d+ ms unless renewed\./) as unknown,
    });
    await unlockAsJava('orders');
    await eventually(async () => (await bench.redis.admin.keys('orders*')).length === 0);
    await (await locks.acquire('orders')).release();
  });

  it.each([
    ['acquire', ['0', '0', 'single']],
    ['acquireFair', ['0', '0', 'single']],
    ['acquireShared', ['read', '']],
    ['acquireShared', ['write', '']],
  ] as const)('a command of %s %j that arrives again does not shorten a longer lease', async (script, rest) => {
    const ask = (lease: number): Promise<unknown> =>
      bench.redis.admin.eval(SCRIPTS[script].source, 2, 'orders', 'latch', 'me:1', lease, ...rest);
    await ask(20_000);
    await ask(5_000);
    for (const key of await bench.redis.admin.keys('*orders*')) {
      expect(await bench.redis.admin.pttl(key)).toBeGreaterThan(10_000);
      await bench.redis.admin.del(key);
    }
  });

  it('does not treat a lock without a TTL as an ended lock', async () => {
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
  const microseconds = async (): Promise<number> => Math.round((await bench.redis.time()) * 1_000);

  it('counts on from the counter that Redisson uses', async () => {
    const locks = await bench.service({ protocol: redisson({ fenced: true }) });
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
    const [locks, other] = await bench.pair({ protocol: redisson({ fenced: true }) });
    await bench.redis.admin.set(COUNTER, 41);
    const before = await locks.acquire('orders');
    expect(before.fencingToken).toBeLessThanOrEqual(await microseconds());
    // What the new master has if the last write did not reach it.
    await bench.redis.admin.multi().del('orders').set(COUNTER, 41).exec();
    const after = await other.acquire('orders');
    expect(after.fencingToken).toBeGreaterThan(before.fencingToken);
    expect(await bench.redis.admin.get(COUNTER)).toBe(String(after.fencingToken));
    await after.release();
  });
});

it('a name mapper names the hash and all that is derived from it', async () => {
  const locks = await bench.service({ protocol: redisson({ nameMapper: (key) => `shop:${key}` }) });
  const lock = await locks.acquire('orders');
  expect(await bench.redis.admin.keys('*')).toEqual(['shop:orders']);
  await lock.release();
});

describe('a lost reply', () => {
  it.each([
    ['acquire of a lock', {}, '1', undefined],
    ['release of a lock', {}, '1', undefined],
    ['acquire of a read lock', { kind: 'read' }, '1 read', undefined],
    ['acquire of permits', { permits: 3, units: 2 }, '1', '3'],
    ['release of permits', { permits: 3, units: 2 }, '1', '3'],
  ] as const)('to the %s counts once', async (what, options, held, free) => {
    const { proxy, service: locks } = await bench.proxied({ commandTimeout: 1_000 });
    await (await locks.acquire('warm', options)).release();
    const { admin } = bench.redis;
    const content = async (): Promise<string | undefined> =>
      (await admin.type('orders')) === 'hash'
        ? (await admin.hvals('orders')).sort().join(' ')
        : ((await admin.get('orders')) ?? undefined);
    const cut = (): void =>
      void proxy.cutAfterCommand(({ name, args }) => name === 'evalsha' && args.includes('orders'));
    if (what.startsWith('acquire')) cut();
    const lock = await locks.acquire('orders', { ...options, waitTimeout: '30s' });
    expect(await content()).toBe(held);
    if (what.startsWith('release')) cut();
    expect(await lock.release()).toBe(true);
    expect(await content()).toBe(free);
  });
});
