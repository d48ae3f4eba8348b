import { expect, it } from '@jest/globals';
import type { LockService } from 'nestjs-redis-locks';
import { aborted } from '../../lab/testbed/locks/locks.js';
import { RespProxy } from '../../lab/testbed/proxies/resp-proxy.mjs';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { RedissonProcess } from '../../lab/testbed/workers/redisson-process.mjs';
import { besideRedisson, isFull, LATE, LEASE } from './sides.js';

const SECTIONS = isFull ? 4_000 : 400;
const CHANNEL = 'redisson_rwlock:{shelf}';

besideRedisson((sides, version) => {
  const a = <T = string>(command: string, ...args: Array<string | number>): Promise<T> =>
    sides.java.on('a')<T>(command, 'shelf', ...args);
  const b = <T = string>(command: string, ...args: Array<string | number>): Promise<T> =>
    sides.java.on('b')<T>(command, 'shelf', ...args);

  /** Adds 1 to a counter so often, for writing; for reading, checks that it does not change meanwhile. */
  async function sections(locks: LockService, times: number): Promise<void> {
    const { admin } = sides.redis;
    for (let i = 0; i < times; i++) {
      const write = async (): Promise<void> => {
        await admin.set('counter', Number((await admin.get('counter')) ?? 0) + 1);
      };
      const read = async (): Promise<void> => expect(await admin.get('counter')).toBe(await admin.get('counter'));
      const isRead = i % 2 === 0;
      const options = { kind: isRead ? 'read' : 'write', waitTimeout: Infinity } as const;
      await locks.run('shelf', isRead ? read : write, options);
    }
  }

  it('writers of both sides lose no update, and readers of both sides see none half done', async () => {
    const locks = await sides.service();
    const each = SECTIONS / 4;
    await Promise.all([
      ...['a', 'b'].map((thread) => sides.java.on(thread)('readWriteSections', 'shelf', 'counter', each)),
      ...[0, 1].map(() => sections(locks, each)),
    ]);
    expect(await sides.redis.admin.get('counter')).toBe(String(SECTIONS / 2));
  });

  it('readers of both sides hold the lock together, and keep the writers of both sides out', async () => {
    const locks = await sides.service();
    const reader = await locks.acquire('shelf', { kind: 'read' });
    expect(await a('read.tryLock', 0, -1)).toBe(true);
    expect(await a('read.holdCount')).toBe('1');
    expect(await b('write.tryLock', 0, -1)).toBe(false);
    expect(await locks.tryAcquire('shelf', { kind: 'write' })).toBeNull();
    await reader.release();
    expect(await locks.tryAcquire('shelf', { kind: 'write' })).toBeNull();
    await a('read.unlock');
    const writer = await locks.acquire('shelf', { kind: 'write' });
    expect(await a('read.tryLock', 0, -1)).toBe(false);
    expect(await a('write.tryLock', 0, -1)).toBe(false);
    await writer.release();
    expect(await a('write.tryLock', 0, -1)).toBe(true);
    expect(await locks.tryAcquire('shelf', { kind: 'read' })).toBeNull();
    await a('write.unlock');
  });

  it('waiters of Redisson are woken: a writer by the last reader, readers by the writer', async () => {
    const locks = await sides.service();
    const waits = (): Promise<unknown> => eventually(async () => (await sides.subscribersOf(CHANNEL)) === 1);
    const reader = await locks.acquire('shelf', { kind: 'read' });
    const javaWrites = a('write.lock', -1);
    await waits();
    await reader.release();
    await javaWrites;
    await a('write.unlock');
    await eventually(async () => (await sides.subscribersOf(CHANNEL)) === 0);
    const writer = await locks.acquire('shelf', { kind: 'write' });
    const javaReads = [a('read.lock', -1), b('read.lock', -1)];
    await waits();
    await writer.release();
    await Promise.all(javaReads);
    await a('read.unlock');
    await b('read.unlock');
  });

  it('waiters here are woken: readers by the writer, a writer by the last reader', async () => {
    const locks = await sides.service();
    let contended = 0;
    locks.events.subscribe(({ type }) => {
      if (type === 'contended') contended += 1;
    });
    const waits = (count: number): Promise<unknown> =>
      eventually(async () => contended === count && (await sides.subscribersOf(CHANNEL)) === 1);
    await a('write.lock', -1);
    const reads = [0, 1, 2].map(() => locks.acquire('shelf', { kind: 'read', waitTimeout: LATE }));
    await waits(3);
    await a('write.unlock');
    await Promise.all((await Promise.all(reads)).map((reader) => reader.release()));
    await a('read.lock', -1);
    await b('read.lock', -1);
    const writes = locks.acquire('shelf', { kind: 'write', waitTimeout: LATE });
    await waits(4);
    await a('read.unlock');
    await b('read.unlock');
    await (await writes).release();
  });

  it('a downgrade here wakes the readers of Redisson', async () => {
    const locks = await sides.service();
    await locks.run(
      'shelf',
      async (writer) => {
        const reader = await locks.acquire('shelf', { kind: 'read' });
        const javaReads = a('read.lock', -1);
        await eventually(async () => (await sides.subscribersOf(CHANNEL)) === 1);
        await writer.release();
        await javaReads;
        expect(await b('write.tryLock', 0, -1)).toBe(false);
        await reader.release();
        await a('read.unlock');
      },
      { kind: 'write' },
    );
    expect(await sides.redis.admin.exists('shelf')).toBe(0);
  });

  it('a downgrade of Redisson lets readers here in within some seconds', async () => {
    const locks = await sides.service();
    await a('write.lock', -1);
    await a('read.lock', -1);
    const reading = locks.acquire('shelf', { kind: 'read', waitTimeout: LATE });
    await eventually(async () => (await sides.subscribersOf(CHANNEL)) === 1);
    await a('write.unlock');
    await (await reading).release();
    await a('read.unlock');
  });

  it('both watchdogs renew the leases of readers, and leave those of the other side long enough', async () => {
    const short = await RedissonProcess.start(version, sides.redis.url, LEASE);
    try {
      const locks = await sides.service({ renewedLease: LEASE });
      const reader = await locks.acquire('shelf', { kind: 'read' });
      await short.on('a')('read.lock', 'shelf', -1);
      expect(await b('write.tryLock', 1.5 * LEASE, -1)).toBe(false);
      expect(reader.isHeld).toBe(true);
      await short.on('a')('read.unlock', 'shelf');
      expect(await b('write.tryLock', 1.5 * LEASE, -1)).toBe(false);
      expect(await reader.release()).toBe(true);
    } finally {
      await short.kill();
    }
  });

  it.each(['read', 'write'] as const)(
    'a crash of either side in its %s lock is taken over within the lease',
    async (type) => {
      const short = await RedissonProcess.start(version, sides.redis.url, LEASE);
      const proxy = await RespProxy.start(sides.redis);
      try {
        const crashing = await sides.service({ connection: proxy.url, renewedLease: LEASE });
        const locks = await sides.service();
        await short.on('a')(`${type}.lock`, 'shelf', -1);
        const waiting = locks.acquire('shelf', { kind: 'write', waitTimeout: LEASE + LATE });
        await short.kill();
        await (await waiting).release();
        const lock = await crashing.acquire('shelf', { kind: type });
        const told = aborted(lock.signal);
        proxy.dropRequests();
        expect(await a('write.tryLock', LEASE + LATE, -1)).toBe(true);
        expect(lock.isHeld).toBe(false);
        await told;
        await a('write.unlock');
      } finally {
        proxy.heal();
        proxy.disconnect();
        await short.kill();
      }
    },
  );

  it('a forced release of either side ends the hold of the other', async () => {
    const locks = await sides.service({ renewedLease: LEASE });
    for (const type of ['read', 'write'] as const) {
      const lock = await locks.acquire('shelf', { kind: type });
      expect(await a(`${type}.forceUnlock`)).toBe(true);
      await aborted(lock.signal);
      await a(`${type}.lock`, -1);
      expect(await locks.forceRelease('shelf')).toBe(true);
      expect(await a(`${type}.isHeld`)).toBe(false);
    }
  });
});
