import { rmSync } from 'node:fs';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { holdIds } from '../../lab/testbed/locks/redis-key.mjs';
import { KINDS } from '../integration/kinds/support.js';
import type { LockHandle, LockService } from '../../lib/index.js';
import { startRedis } from '../../lab/testbed/servers/redis-server.mjs';
import { LockBench, abortOf, leaseEnd, redisKey, timed } from '../../lab/testbed/locks/locks.js';
import { keysWithTtl } from '../../lab/testbed/history/leaks.mjs';
import { lockError } from '../../lab/testbed/locks/lock-error.js';

const LATE = 1_500;

const bench = new LockBench({ records: true, each: true });

const advice = (text: string) => lockError('LOCK_STORE', text);

describe('a Redis whose memory is full (maxmemory, noeviction)', () => {
  const fill = async (): Promise<void> => {
    await bench.redis.admin.config('SET', 'maxmemory-policy', 'noeviction');
    await bench.redis.admin.config('SET', 'maxmemory', '1');
    await expect(bench.redis.admin.set('more', 'data')).rejects.toThrow('OOM');
  };

  it('refuses new locks with a typed error that says what to do, and keeps nothing of them', async () => {
    const service = await bench.service();
    await fill();
    for (const work of [() => service.acquire('a'), () => service.tryAcquire('a'), () => service.run('a', () => 1)]) {
      const { error, ran } = await timed<unknown>(work());
      expect(error).toEqual(advice('out of memory: raise maxmemory'));
      expect(error).toMatchObject({ key: 'a', transient: false });
      expect(ran).toBeLessThan(LATE);
    }
    // Nothing but the temporary note that no caller waits there any more.
    const left = await keysWithTtl(bench.redis.admin);
    expect(left.filter(({ key }) => !key.startsWith('lock:tombstones:'))).toEqual([]);
    expect(left.filter(({ ttl }) => ttl < 0)).toEqual([]);
  });

  it('renews, verifies, extends and releases held locks, and hands them to waiters', async () => {
    const [one, other] = [await bench.service({ renewedLease: 900 }), await bench.service()];
    const handle = await one.acquire('a');
    const alone = await one.acquire('alone');
    const waiting = timed(other.acquire('a'));
    await bench.untilWaiting('a', 1);
    await fill();
    const before = bench.told('renewed').length;
    await eventually(() => bench.told('renewed').length >= before + 4);
    await handle.verify();
    await handle.extend(2_000);
    expect(await alone.release()).toBe(true);
    expect(await handle.release()).toBe(true);
    const { value } = await waiting;
    expect(value!.fencingToken).toBeGreaterThan(handle.fencingToken);
    // A pushed grant has a short first lease; it still becomes a full lease.
    await eventually(async () => (await one.inspect('a'))!.ttl > 20_000);
    expect(await one.forceRelease('a')).toBe(true);
    expect(await value!.release()).toBe(false);
    expect(bench.told('lost')).toHaveLength(1);
    await bench.untilNothingIsLeft();
  });

  it.each(KINDS)('grants no locks of several keys, and releases held ones: $kind', async ({ options }) => {
    const service = await bench.service();
    const holds = async (key: string): Promise<number> =>
      (await holdIds(bench.redis.admin, redisKey('state', key))).length;
    const held = await service.acquire(['a', 'b'], options);
    const alone = await service.acquire('c', options);
    await fill();
    for (const keys of [['d'], ['d', 'e']]) {
      const { error } = await timed(service.acquire(keys, { ...options, waitTimeout: 200 }));
      expect(error).toMatchObject({ code: 'LOCK_STORE' });
    }
    await held.verify();
    expect([await held.release(), await alone.release()]).toEqual([true, true]);
    expect(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(holds))).toEqual([0, 0, 0, 0, 0]);
  });

  it('keeps a key for its holdAtLeast', async () => {
    const service = await bench.service();
    const handle = await service.acquire('a', { holdAtLeast: 800 });
    await fill();
    expect(await handle.release()).toBe(true);
    expect(await service.inspect('a')).toMatchObject({ holders: [{ kept: true }] });
    await bench.untilNothingIsLeft();
  });
});

describe('a Redis user without a permission', () => {
  it('NOPERM for the scripts: causes a typed error at once that says so', async () => {
    const service = await bench.service({ connection: await bench.userWith('-evalsha', '-eval') });
    for (const work of [() => service.acquire('a'), () => service.inspect('a'), () => service.forceRelease('a')]) {
      const { error, ran } = await timed<unknown>(work());
      expect(error).toEqual(advice('the Redis user lacks a permission'));
      expect(ran).toBeLessThan(LATE);
    }
  });

  it('NOPERM for the keys, within the script', async () => {
    const service = await bench.service({ connection: await bench.userWith('resetkeys', '~other:*') });
    expect((await timed(service.acquire('a'))).error).toEqual(advice('the Redis user lacks a permission'));
  });

  it.each(['time', 'hset', 'publish', 'pubsub|numsub'])('NOPERM for %s, which only scripts call', async (command) => {
    const [one, other] = await bench.pair({ connection: await bench.userWith(`-${command}`) });
    const handle = await timed(one.acquire('a'));
    const waiting = timed(other.acquire('a', { waitTimeout: 300 }));
    const failed = [
      handle.error,
      (await timed(handle.value?.release() ?? Promise.resolve(false))).error,
      (await waiting).error,
    ];
    // Which of them needs it first depends on the command.
    expect(failed).toContainEqual(advice('the Redis user lacks a permission'));
    await (await waiting).value?.release().catch(() => undefined);
  });

  it('NOPERM for one key: the other locks of the process are renewed, and the loss says why', async () => {
    const service = await bench.service({ connection: await bench.userWith(), renewedLease: 1_500 });
    const [kept, lost] = [await service.acquire('kept'), await service.acquire('lost')];
    await bench.redis.admin.acl('SETUSER', 'weak', 'resetkeys', '~lock:*{kept}*');
    await eventually(() => bench.told('lost').length > 0, { within: 10_000 });
    expect(() => lost.assertHeld()).toThrow(/lease ended .*; the last renewal failed: .*permission.*access/);
    expect(bench.told('lost')).toMatchObject([{ key: 'lost' }]);
    expect(lost.signal.reason).toMatchObject({ code: 'LOCK_LOST', cause: { code: 'LOCK_STORE' } });
    // At once, and not for each try.
    const warnings = bench.warnings.filter((text) => text.startsWith("could not renew 'lost'"));
    expect(warnings).toEqual([expect.stringContaining('permission')]);
    const before = bench.told('renewed').length;
    await eventually(() => bench.told('renewed').length >= before + 2);
    expect(kept.isHeld).toBe(true);
  });

  it('NOPERM for the channel: starting says what is missing', async () => {
    const service = bench.make({ connection: await bench.userWith('resetchannels'), commandTimeout: 500 });
    const { error, ran } = await timed(service.start());
    expect(ran).toBeLessThan(500 + LATE);
    expect(error).toEqual(lockError('LOCK_STORE', 'NOPERM'));
    expect(bench.lines.join('\n')).toContain('NOPERM');
  });

  it.each([
    ['NOAUTH without a password', ''],
    ['WRONGPASS with a wrong one', ':wrong@'],
  ])('%s: typed errors that say so', async (_, login) => {
    await bench.redis.admin.config('SET', 'requirepass', 'secret');
    const service = bench.make({ connection: bench.redis.url.replace('//', `//${login}`), commandTimeout: 500 });
    const start = await timed(service.start());
    const message = expect.stringMatching(/user or password in `connection` is missing or wrong.*(NOAUTH|WRONGPASS)/);
    expect(start.error).toMatchObject({ code: 'LOCK_STORE', message });
    expect(start.error.message).not.toContain('reached');
    expect(start.ran).toBeLessThan(500 + LATE);
    for (const work of [() => service.acquire('a'), () => service.tryAcquire('a'), () => service.inspect('a')]) {
      const { error, ran } = await timed<unknown>(work());
      expect(error).toEqual(lockError('LOCK_STORE', /NOAUTH|WRONGPASS/));
      expect(error.message).not.toContain('secret');
      expect(ran).toBeLessThan(2 * 500 + LATE);
    }
    await bench.redis.admin.config('SET', 'requirepass', '');
  });

  it.each(['Sentinel', 'node of a Cluster'])('WRONGPASS of a %s: starting says so', async (what) => {
    const at = { host: bench.redis.host, port: bench.redis.port };
    await bench.redis.admin.config('SET', 'requirepass', 'secret');
    const connection =
      what === 'Sentinel'
        ? { sentinels: [at], name: 'main', sentinelPassword: 'wrong' }
        : { cluster: [at], options: { redisOptions: { password: 'wrong' } } };
    const service = bench.make({ connection, commandTimeout: 500 });
    const { error } = await timed(service.start());
    expect(error).toEqual(lockError('LOCK_STORE', 'WRONGPASS'));
    await bench.redis.admin.config('SET', 'requirepass', '');
  });
});

describe('a Redis that refuses temporarily', () => {
  it('NOREPLICAS: typed errors while there are too few replicas, then waits and releases continue', async () => {
    const service = await bench.service();
    const held = await service.acquire('held');
    await bench.redis.admin.config('SET', 'min-replicas-to-write', '1');
    const { error } = await timed(service.tryAcquire('a'));
    expect(error).toEqual(advice('Redis has fewer replicas than its min-replicas-to-write demands'));
    expect(error).toMatchObject({ transient: true });
    expect((await timed(held.release())).error).toMatchObject({ code: 'LOCK_STORE' });
    const waiting = service.acquire('a');
    await bench.redis.admin.config('SET', 'min-replicas-to-write', '0');
    expect(await (await waiting).release()).toBe(true);
    await eventually(async () => (await service.inspect('held')) === null);
  });

  it('BUSY: waits continue after the script of another client has ended', async () => {
    await bench.redis.admin.config('SET', 'lua-time-limit', '10');
    const service = await bench.service();
    const held = await service.acquire('held');
    const busy = timed(bench.redis.client().eval('while true do end', 0));
    await eventually(async () => (await timed(bench.redis.admin.ping())).error?.message.startsWith('BUSY'));
    const { error } = await timed(service.tryAcquire('a'));
    expect(error).toEqual(lockError('LOCK_STORE', 'BUSY', { transient: true }));
    expect((await timed(held.verify())).error).toMatchObject({ code: 'LOCK_STORE' });
    const waiting = service.acquire('a');
    await bench.redis.admin.script('KILL');
    await busy;
    expect(await (await waiting).release()).toBe(true);
    expect(held.isHeld).toBe(true);
    expect(await held.release()).toBe(true);
  });

  it('MISCONF: typed errors while the disk fails, and work again afterwards', async () => {
    const service = await bench.service();
    const held = await service.acquire('held');
    const [, directory] = await bench.redis.admin.config('GET', 'dir');
    rmSync(directory!, { recursive: true });
    await bench.redis.admin.config('SET', 'save', '3600 1');
    await bench.redis.admin.bgsave();
    await eventually(async () => (await timed(bench.redis.admin.set('x', 'y'))).error?.message.startsWith('MISCONF'));
    expect((await timed(service.acquire('a'))).error).toEqual(advice('Redis refuses writes because it cannot save'));
    expect((await timed(held.release())).error).toEqual(advice('Redis refuses writes because it cannot save'));
    await bench.redis.admin.config('SET', 'save', '');
    expect(await (await service.acquire('a')).release()).toBe(true);
  });
});

it('NOAUTH: after a password is set, holders are notified in time, and all works when it is removed', async () => {
  const options = { renewedLease: 1_500, commandTimeout: 500 };
  const [one, other] = await bench.pair(options);
  const { lock, waiting: acquiring } = await bench.contended(one, other, { waitTimeout: Infinity });
  const waiting = timed(acquiring);
  const aborted = abortOf(lock.signal);
  await bench.redis.admin.config('SET', 'requirepass', 'secret');
  // All connections but the test's own.
  for (const type of ['normal', 'pubsub'])
    await bench.redis.admin.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
  const end = await leaseEnd(bench.redis, 'a');
  for (const work of [() => one.acquire('b'), () => one.tryAcquire('b'), () => one.inspect('b')]) {
    const { error, ran } = await timed<unknown>(work());
    expect(error).toEqual(lockError('LOCK_STORE', /NOAUTH|unreachable for/));
    expect(ran).toBeLessThan(2 * 500 + LATE);
  }
  expect((await waiting).error).toMatchObject({ code: 'LOCK_STORE' });
  expect(await aborted).toBeLessThan(end + LATE);
  expect(lock.isHeld).toBe(false);
  await bench.redis.admin.config('SET', 'requirepass', '');
  const next = await eventually(() => other.acquire('a', { waitTimeout: 5_000 }), { within: 10_000 });
  expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
  expect(await next.release()).toBe(true);
});

it('LOADING: a server that loads its data serves calls that can wait, and loses no lock', async () => {
  // A server that has much to load: each key takes half a millisecond.
  const args = ['--key-load-delay', '500', '--loading-process-events-interval-bytes', '1024'];
  const server = bench.endLater(await startRedis({ args }));
  const service = await bench.service({ connection: server.url, commandTimeout: 10_000 });
  const lock = await service.acquire('a', { expire: '60s' });
  const filling = server.admin.pipeline();
  for (let i = 0; i < 3_000; i++) filling.set(`filling:${i}`, 'x'.repeat(200));
  await filling.exec();
  await server.admin.save();
  await server.kill();
  const started = server.start();
  const refusal = (): Promise<unknown> => server.client({ enableReadyCheck: false, maxRetriesPerRequest: 0 }).ping();
  await eventually(async () => (await timed(refusal())).error?.message.startsWith('LOADING'), { what: 'LOADING' });
  const next = await service.acquire('b', { waitTimeout: 10_000 });
  expect(await next.release()).toBe(true);
  await started;
  await lock.verify();
  expect(await lock.release()).toBe(true);
});

describe('a right that a Redis user lacks for one command', () => {
  /** Acquires a hold, or releases one, while the right is missing. */
  type Step = (one: LockService, other: LockService, held: LockHandle[]) => Promise<unknown>;
  const withOwner = (locks: LockService): Promise<LockHandle> => locks.acquire('a', { owner: 'o', waitTimeout: 0 });
  const reads = (locks: LockService): Promise<LockHandle> => locks.acquire('a', { kind: 'read', waitTimeout: 0 });
  const takes = (locks: LockService): Promise<LockHandle> => locks.getSemaphore('a', { permits: 3 }).acquire();

  it.each<[right: string, what: string, take: (locks: LockService) => Promise<LockHandle>, step: Step]>([
    ['hset', 'a permit is released', takes, (_one, _other, held) => held[1]!.release()],
    ['zrem', 'a permit is released', takes, (_one, _other, held) => held[1]!.release()],
    ['zrem', 'a reader leaves', reads, (_one, _other, held) => held[1]!.release()],
    ['zadd', 'a second reader comes', reads, (one) => reads(one)],
    ['zadd', 'an owner comes back', withOwner, (one) => withOwner(one)],
  ])('leaves nothing behind that no call can read: %s, as %s', async (right, what, take, step) => {
    await bench.redis.admin.acl('SETUSER', 'app', 'on', '>secret', '+@all', '~*', '&*');
    const url = bench.redis.url.replace('//', '//app:secret@');
    const [one, other] = await bench.pair({ connection: url });
    const held = [await take(other)];
    if (what.includes('release') || what.includes('leaves')) held.push(await take(one));
    await bench.redis.admin.acl('SETUSER', 'app', `-${right}`);
    await expect(step(one, other, held)).rejects.toEqual(advice('lacks a permission'));
    await bench.redis.admin.acl('SETUSER', 'app', `+${right}`);
    await expect(other.getLock('a').isLocked()).resolves.toBeDefined();
    expect(await held[0]!.release()).toBe(true);
    const next = await one.acquire('a', { waitTimeout: 200 });
    expect(await next.release()).toBe(true);
  });
});
