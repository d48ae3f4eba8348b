import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { LockService, RedisLockModuleOptions } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { createLockClient } from 'nestjs-redis-locks/client';
import { aborted } from '../../lab/testbed/locks/locks.js';
import { RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { RedissonProcess } from '../../lab/testbed/workers/redisson-process.mjs';

const isFull = process.env['REDISSON_FULL'] === '1';
/** Sections of both sides together. */
const SECTIONS = isFull ? 10_000 : 1_000;
/** The median of a wake-up in ms. The short form also runs on busy machines: without messages a waiter would take 3 s. */
const WAKE_UP = isFull ? 50 : 500;
/** A busy machine may stop either watchdog for some time. */
const LEASE = 3_000;
/** How much later than it could, in ms, something may happen on a busy machine: less than the lease of 30 s. */
const LATE = 15_000;
const VERSIONS = ['3.52.0', '4.7.0'];

let redis: RedisServer;
const services: LockService[] = [];
const quiet = { debug() {}, log() {}, warn() {}, error() {} };

async function service(options: RedisLockModuleOptions = {}): Promise<LockService> {
  const given = { connection: redis.url, protocol: redisson(), shutdownTimeout: 0, ...options };
  const locks = await createLockClient(given, { logger: quiet });
  services.push(locks);
  return locks;
}

beforeAll(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  await Promise.all(services.splice(0).map((locks) => locks.close()));
});
afterAll(() => redis.stop());

/** Adds 1 to a counter so often: it reads, then writes. Without exclusion, updates get lost. */
async function sections(locks: LockService, key: string, counter: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await locks.run(
      key,
      async () => {
        const before = Number((await redis.admin.get(counter)) ?? 0);
        await redis.admin.set(counter, before + 1);
      },
      { waitTimeout: Infinity },
    );
  }
}

const subscribersOf = async (name: string): Promise<number> =>
  Number((await redis.admin.pubsub('NUMSUB', `redisson_lock__channel:{${name}}`))[1]);

const median = (times: number[]): number => times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;

describe.each(VERSIONS)('beside Redisson %s', (version) => {
  let java: RedissonProcess;

  beforeAll(async () => {
    java = await RedissonProcess.start(version, redis.url);
  });
  afterAll(() => java?.kill());
  afterEach(() => redis.admin.flushall());

  it('sections of both sides at once lose no update', async () => {
    const locks = await service();
    const each = SECTIONS / 4;
    const from = performance.now();
    const javaDone = Promise.all(['a', 'b'].map((thread) => java.on(thread)('sections', 'orders', 'counter', each)));
    const oursDone = Promise.all([0, 1].map(() => sections(locks, 'orders', 'counter', each)));
    const first = await Promise.race([javaDone.then(() => 'Redisson'), oursDone.then(() => 'this library')]);
    const soFar = Number(await redis.admin.get('counter'));
    const perSecond = (1_000 * soFar) / (performance.now() - from);
    await Promise.all([javaDone, oursDone]);
    expect(await redis.admin.get('counter')).toBe(String(SECTIONS));
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
      await java.on('a')('lock', 'orders', -1);
      const waiting = locks.acquire('orders', { waitTimeout: '60s' });
      await eventually(async () => contended === i + 1 && (await subscribersOf('orders')) === 1);
      const from = performance.now();
      await java.on('a')('unlock', 'orders');
      const lock = await waiting;
      ours!.push(performance.now() - from);

      const javaWaits = java.on('b')('lock', 'orders', -1);
      await eventually(async () => (await subscribersOf('orders')) === 2);
      const released = performance.now();
      await lock.release();
      await javaWaits;
      theirs!.push(performance.now() - released);
      await java.on('b')('unlock', 'orders');
      await eventually(async () => (await subscribersOf('orders')) < 2, { within: 60_000 });
    }
    process.stdout.write(
      `${version}: medians of wake-ups: ours ${median(ours!).toFixed(1)} ms, Redisson ${median(theirs!).toFixed(1)} ms\n`,
    );
    expect(median(ours!)).toBeLessThan(WAKE_UP);
    expect(median(theirs!)).toBeLessThan(WAKE_UP);
  });

  it('a lock of either side stays with its holder through re-entry', async () => {
    const locks = await service();
    const a = java.on('a');
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
    const short = await RedissonProcess.start(version, redis.url, LEASE);
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
    const short = await RedissonProcess.start(version, redis.url, LEASE);
    const proxy = await RespProxy.start(redis);
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
      const taken = java.on('a')('tryLock', 'orders', LEASE + LATE, -1);
      expect(await taken).toBe(true);
      // It knew by its own clock before Redis let the other side have the lock.
      expect(lock.isHeld).toBe(false);
      await told;
      await java.on('a')('unlock', 'orders');
    } finally {
      proxy.heal();
      proxy.disconnect();
      await short.kill();
    }
  });

  it('a forced release of either side ends the hold of the other', async () => {
    const locks = await service({ renewedLease: LEASE });
    const lock = await locks.acquire('orders');
    expect(await java.on('a')('forceUnlock', 'orders')).toBe(true);
    await aborted(lock.signal);
    await java.on('a')('lock', 'orders', -1);
    expect(await locks.forceRelease('orders')).toBe(true);
    expect(await java.on('a')('isHeld', 'orders')).toBe(false);
    expect(await locks.forceRelease('orders')).toBe(false);
  });

  it('fencing tokens grow strictly over both sides', async () => {
    const locks = await service({ protocol: redisson({ fenced: true }) });
    const times = SECTIONS / 20;
    const ours: number[] = [];
    const theirs = java.on('a')('fencedSections', 'orders', times);
    for (let i = 0; i < times; i++) {
      await locks.run('orders', (lock) => void ours.push(lock.fencingToken), { waitTimeout: Infinity });
    }
    const tokens = (await theirs).split(',').map(Number);
    for (const list of [ours, tokens]) expect(list).toEqual([...new Set(list)].sort((a, b) => a - b));
    expect(new Set([...ours, ...tokens]).size).toBe(2 * times);
    const last = Math.max(...ours, ...tokens);
    expect(Number(await java.on('a')('fencedLock', 'orders'))).toBe(last + 1);
    await java.on('a')('fencedUnlock', 'orders');
    const [seconds] = await redis.admin.time();
    expect(last / 1e6).toBeLessThanOrEqual(Number(seconds) + 1);
  });

  it.each(['{order}', 'a}b', '{}order', 'a{b}c'])(
    'a lock named %s in Java is excluded and woken here',
    async (name) => {
      const locks = await service({ protocol: redisson({ nameMapper: () => name }) });
      for (const kind of ['', 'fair.', 'read.', 'write.']) {
        const fair = kind === 'fair.';
        const type = kind === 'read.' ? 'write' : kind === 'write.' ? 'read' : 'exclusive';
        await java.on('a')(`${kind}lock`, name, -1);
        expect(await locks.tryAcquire('order', { kind: type, fair })).toBeNull();
        const waiting = locks.acquire('order', { kind: type, fair, waitTimeout: LATE });
        await java.on('a')(`${kind}unlock`, name);
        const lock = await waiting;
        expect(await java.on('a')(`${kind}tryLock`, name, 0, -1)).toBe(false);
        await lock.release();
      }
    },
  );

  it('a spin lock of Redisson excludes; a waiter here gets it within some seconds, and one in Redisson polls', async () => {
    const locks = await service();
    await java.on('a')('spin.lock', 'orders', -1);
    expect(await locks.tryAcquire('orders')).toBeNull();
    const waiting = locks.acquire('orders', { waitTimeout: LATE });
    await java.on('a')('spin.unlock', 'orders');
    const lock = await waiting;
    const theirs = java.on('a')('spin.lock', 'orders', -1);
    await lock.release();
    await theirs;
    await java.on('a')('spin.unlock', 'orders');
  });
});

it('services with Redisson 3, Redisson 4 and this library share one lock', async () => {
  const jvms = await Promise.all(VERSIONS.map((version) => RedissonProcess.start(version, redis.url)));
  try {
    const locks = await service();
    const each = SECTIONS / 10;
    await Promise.all([
      ...jvms.map((java) => java.on('a')('sections', 'orders', 'counter', each)),
      sections(locks, 'orders', 'counter', each),
    ]);
    expect(await redis.admin.get('counter')).toBe(String(3 * each));
  } finally {
    await Promise.all(jvms.map((java) => java.kill()));
  }
});
