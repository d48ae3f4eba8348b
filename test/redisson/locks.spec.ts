import { expect, it } from '@jest/globals';
import type { LockService, RedisLockModuleOptions } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { aborted } from '../../lab/testbed/locks/locks.js';
import { RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { RedissonProcess } from '../../lab/testbed/workers/redisson-process.mjs';
import { besideRedisson, isFull, LATE, LEASE, VERSIONS } from './sides.js';

/** Sections of both sides together. */
const SECTIONS = isFull ? 10_000 : 1_000;
/** The median of a wake-up in ms. The short form also runs on busy machines: without messages a waiter would take 3 s. */
const WAKE_UP = isFull ? 50 : 500;

/** Adds 1 to a counter so often: it reads, then writes. Without exclusion, updates get lost. */
async function sections({ admin }: RedisServer, locks: LockService, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const section = async (): Promise<unknown> => admin.set('counter', Number((await admin.get('counter')) ?? 0) + 1);
    await locks.run('orders', section, { waitTimeout: Infinity });
  }
}

const median = (times: number[]): number => times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;

besideRedisson((sides, version) => {
  const service = (options?: RedisLockModuleOptions): Promise<LockService> => sides.service(options);
  const on = (thread: string) => sides.java.on(thread);
  const listening = (): Promise<number> => sides.subscribersOf('redisson_lock__channel:{orders}');

  it('sections of both sides at once lose no update', async () => {
    const locks = await service();
    const each = SECTIONS / 4;
    const from = performance.now();
    const javaDone = Promise.all(['a', 'b'].map((thread) => on(thread)('sections', 'orders', 'counter', each)));
    const oursDone = Promise.all([0, 1].map(() => sections(sides.redis, locks, each)));
    const first = await Promise.race([javaDone.then(() => 'Redisson'), oursDone.then(() => 'this library')]);
    const soFar = Number(await sides.redis.admin.get('counter'));
    const perSecond = (1_000 * soFar) / (performance.now() - from);
    await Promise.all([javaDone, oursDone]);
    expect(await sides.redis.admin.get('counter')).toBe(String(SECTIONS));
    // No side starves. In the short form, the first side may have finished before the other one has begun.
    const other = soFar - SECTIONS / 2;
    process.stdout.write(
      `${version}: ${perSecond.toFixed(0)} sections/s of both sides; ${first} was first, and the other side had ` +
        `${((100 * other) / soFar).toFixed(0)} % of all sections by then\n`,
    );
    if (isFull) expect(other).toBeGreaterThan(SECTIONS / 100);
  });

  it('each side is woken by the other side within 50 ms', async () => {
    const locks = await service();
    let contended = 0;
    locks.events.subscribe(({ type }) => {
      if (type === 'contended') contended += 1;
    });
    const [ours, theirs]: number[][] = [[], []];
    for (let i = 0; i < (isFull ? 21 : 5); i++) {
      await on('a')('lock', 'orders', -1);
      const waiting = locks.acquire('orders', { waitTimeout: '60s' });
      await eventually(async () => contended === i + 1 && (await listening()) === 1);
      const from = performance.now();
      await on('a')('unlock', 'orders');
      const lock = await waiting;
      ours!.push(performance.now() - from);

      const javaWaits = on('b')('lock', 'orders', -1);
      await eventually(async () => (await listening()) === 2);
      const released = performance.now();
      await lock.release();
      await javaWaits;
      theirs!.push(performance.now() - released);
      await on('b')('unlock', 'orders');
      await eventually(async () => (await listening()) < 2, { within: 60_000 });
    }
    process.stdout.write(
      `${version}: medians of wake-ups: ours ${median(ours!).toFixed(1)} ms, Redisson ${median(theirs!).toFixed(1)} ms\n`,
    );
    expect(median(ours!)).toBeLessThan(WAKE_UP);
    expect(median(theirs!)).toBeLessThan(WAKE_UP);
  });

  it('a lock of either side stays with its holder through re-entry', async () => {
    const locks = await service();
    const a = on('a');
    await a('lock', 'orders', -1);
    await a('lock', 'orders', -1);
    expect(await a('holdCount', 'orders')).toBe('2');
    await a('unlock', 'orders');
    expect(await locks.tryAcquire('orders')).toBeNull();
    await a('unlock', 'orders');
    await locks.run('orders', async () => {
      await locks.run('orders', async () => expect(await a('isLocked', 'orders')).toBe(true));
      expect(await a('tryLock', 'orders', 0, -1)).toBe(false);
    });
    expect(await a('tryLock', 'orders', 0, -1)).toBe(true);
    await a('unlock', 'orders');
  });

  it('both watchdogs keep the lock from the other side', async () => {
    const short = await RedissonProcess.start(version, sides.redis.url, LEASE);
    try {
      const locks = await service({ renewedLease: LEASE });
      await short.on('a')('lock', 'orders', -1);
      await expect(locks.acquire('orders', { waitTimeout: 1.5 * LEASE })).rejects.toMatchObject({
        code: 'LOCK_TIMEOUT',
      });
      await short.on('a')('unlock', 'orders');
      const lock = await locks.acquire('orders');
      expect(await short.on('a')('tryLock', 'orders', 1.5 * LEASE, -1)).toBe(false);
      expect(await lock.release()).toBe(true);
    } finally {
      await short.kill();
    }
  });

  it('a crash of either side is taken over within the lease', async () => {
    const short = await RedissonProcess.start(version, sides.redis.url, LEASE);
    const proxy = await RespProxy.start(sides.redis);
    try {
      const [locks, crashing] = [await service(), await service({ connection: proxy.url, renewedLease: LEASE })];
      await short.on('a')('lock', 'orders', -1);
      const waiting = locks.acquire('orders', { waitTimeout: LEASE + LATE });
      await short.kill();
      await (await waiting).release();

      const lock = await crashing.acquire('orders');
      const told = aborted(lock.signal);
      // As after a crash: no renewal arrives.
      proxy.dropRequests();
      const taken = on('a')('tryLock', 'orders', LEASE + LATE, -1);
      expect(await taken).toBe(true);
      // It knew by its own clock before Redis let the other side have the lock.
      expect(lock.isHeld).toBe(false);
      await told;
      await on('a')('unlock', 'orders');
    } finally {
      proxy.heal();
      proxy.disconnect();
      await short.kill();
    }
  });

  it('a forced release of either side ends the hold of the other', async () => {
    const locks = await service({ renewedLease: LEASE });
    const lock = await locks.acquire('orders');
    expect(await on('a')('forceUnlock', 'orders')).toBe(true);
    await aborted(lock.signal);
    await on('a')('lock', 'orders', -1);
    expect(await locks.forceRelease('orders')).toBe(true);
    expect(await on('a')('isHeld', 'orders')).toBe(false);
    expect(await locks.forceRelease('orders')).toBe(false);
  });

  it('fencing tokens grow strictly over both sides', async () => {
    const locks = await service({ protocol: redisson({ fenced: true }) });
    const times = SECTIONS / 20;
    const ours: number[] = [];
    const theirs = on('a')('fencedSections', 'orders', times);
    for (let i = 0; i < times; i++) {
      await locks.run('orders', (lock) => void ours.push(lock.fencingToken), { waitTimeout: Infinity });
    }
    const tokens = (await theirs).split(',').map(Number);
    for (const list of [ours, tokens]) expect(list).toEqual([...new Set(list)].sort((a, b) => a - b));
    expect(new Set([...ours, ...tokens]).size).toBe(2 * times);
    const last = Math.max(...ours, ...tokens);
    expect(Number(await on('a')('fencedLock', 'orders'))).toBe(last + 1);
    await on('a')('fencedUnlock', 'orders');
    const [seconds] = await sides.redis.admin.time();
    expect(last / 1e6).toBeLessThanOrEqual(Number(seconds) + 1);
  });

  it.each(['{order}', 'a}b', '{}order', 'a{b}c'])(
    'a lock named %s in Java is excluded and woken here',
    async (name) => {
      const locks = await service({ protocol: redisson({ nameMapper: () => name }) });
      for (const kind of ['', 'fair.', 'read.', 'write.']) {
        const fair = kind === 'fair.';
        const type = kind === 'read.' ? 'write' : kind === 'write.' ? 'read' : 'exclusive';
        await on('a')(`${kind}lock`, name, -1);
        expect(await locks.tryAcquire('order', { kind: type, fair })).toBeNull();
        const waiting = locks.acquire('order', { kind: type, fair, waitTimeout: LATE });
        await on('a')(`${kind}unlock`, name);
        const lock = await waiting;
        expect(await on('a')(`${kind}tryLock`, name, 0, -1)).toBe(false);
        await lock.release();
      }
    },
  );

  it('a spin lock of Redisson excludes; a waiter here gets it within some seconds, and one in Redisson polls', async () => {
    const locks = await service();
    await on('a')('spin.lock', 'orders', -1);
    expect(await locks.tryAcquire('orders')).toBeNull();
    const waiting = locks.acquire('orders', { waitTimeout: LATE });
    await on('a')('spin.unlock', 'orders');
    const lock = await waiting;
    const theirs = on('a')('spin.lock', 'orders', -1);
    await lock.release();
    await theirs;
    await on('a')('spin.unlock', 'orders');
  });

  it('services with Redisson 3, Redisson 4 and this library share one lock', async () => {
    const other = await RedissonProcess.start(
      VERSIONS.find((each) => each !== version)!,
      sides.redis.url,
    );
    try {
      const locks = await service();
      const each = SECTIONS / 10;
      await Promise.all([
        ...[sides.java, other].map((java) => java.on('a')('sections', 'orders', 'counter', each)),
        sections(sides.redis, locks, each),
      ]);
      expect(await sides.redis.admin.get('counter')).toBe(String(3 * each));
    } finally {
      await other.kill();
    }
  });
});
