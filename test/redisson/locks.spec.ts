import type { LockService, RedisLockModuleOptions } from 'nestjs-redis-locks';
import { redisson } from 'nestjs-redis-locks/redisson';
import { aborted, eventually } from '../../lab/testbed/locks/locks.js';
import { besideRedisson, isFull, LATE, LEASE, median, wakeUps } from './sides.js';

besideRedisson((sides, version) => {
  describe('locks', () => {
    /** Sections of both sides together. */
    const SECTIONS = isFull ? 10_000 : 1_000;
    /** The median of a wake-up in ms. The short form also runs on busy machines: without messages a waiter would take 3 s. */
    const WAKE_UP = isFull ? 50 : 500;

    const service = (options?: RedisLockModuleOptions): Promise<LockService> => sides.service(options);
    const on = (thread: string) => sides.java.on(thread);
    const listening = (): Promise<number> => sides.subscribersOf('redisson_lock__channel:{orders}');

    it('sections of both sides at once lose no update', async () => {
      const locks = await service();
      const each = SECTIONS / 4;
      const from = performance.now();
      const javaDone = Promise.all(['a', 'b'].map((thread) => on(thread)('sections', 'orders', 'counter', each)));
      const oursDone = Promise.all([0, 1].map(() => sides.count(locks, 'orders', each, { waitTimeout: Infinity })));
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
      const rounds = isFull ? 21 : 5;
      const [ours, theirs] = await wakeUps(await service(), sides.java, { key: 'orders', rounds, listening });
      process.stdout.write(
        `${version}: medians of wake-ups: ours ${ours.toFixed(1)} ms, Redisson ${theirs.toFixed(1)} ms\n`,
      );
      expect(ours).toBeLessThan(WAKE_UP);
      expect(theirs).toBeLessThan(WAKE_UP);
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
      const short = await sides.short();
      const locks = await service({ renewedLease: LEASE });
      await short.on('a')('lock', 'orders', -1);
      await expect(locks.acquire('orders', { waitTimeout: 1.5 * LEASE })).rejects.toMatchObject({
        code: 'LOCK_TIMEOUT',
      });
      await short.on('a')('unlock', 'orders');
      const lock = await locks.acquire('orders');
      expect(await short.on('a')('tryLock', 'orders', 1.5 * LEASE, -1)).toBe(false);
      expect(await lock.release()).toBe(true);
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
      expect(last / 1e3).toBeLessThanOrEqual((await sides.redis.time()) + 1_000);
    });

    it.each(['{order}', 'a}b', '{}order', 'a{b}c'])('a lock %s in Java is excluded and woken here', async (name) => {
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
    });

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
  });

  describe.each([
    ['a lock', {}, '', {}, ''],
    ['a read lock', { kind: 'read' }, 'read.', { kind: 'write' }, 'write.'],
    ['a write lock', { kind: 'write' }, 'write.', { kind: 'write' }, 'write.'],
  ] as const)('%s', (_kind, options, java, other, javaOther) => {
    const on = (thread: string) => sides.java.on(thread);

    it('is taken over within the lease after a crash of either side', async () => {
      const [short, proxy] = [await sides.short(), await sides.proxy()];
      const locks = await sides.service();
      const crashing = await sides.service({ connection: proxy.url, renewedLease: LEASE });
      await short.on('a')(`${java}lock`, 'orders', -1);
      const waiting = locks.acquire('orders', { ...other, waitTimeout: LEASE + LATE });
      await short.kill();
      await (await waiting).release();

      const lock = await crashing.acquire('orders', options);
      const told = aborted(lock.signal);
      // As after a crash: no renewal arrives.
      proxy.dropRequests();
      expect(await on('a')(`${javaOther}tryLock`, 'orders', LEASE + LATE, -1)).toBe(true);
      // It knew by its own clock before Redis let the other side have the lock.
      expect(lock.isHeld).toBe(false);
      await told;
      await on('a')(`${javaOther}unlock`, 'orders');
    });

    it('of either side ends with a forced release of the other', async () => {
      const locks = await sides.service({ renewedLease: LEASE });
      const lock = await locks.acquire('orders', options);
      expect(await on('a')(`${java}forceUnlock`, 'orders')).toBe(true);
      await aborted(lock.signal);
      await on('a')(`${java}lock`, 'orders', -1);
      expect(await locks.forceRelease('orders')).toBe(true);
      expect(await on('a')(`${java}isHeld`, 'orders')).toBe(false);
      expect(await locks.forceRelease('orders')).toBe(false);
    });
  });

  describe('read-write locks', () => {
    const SECTIONS = isFull ? 4_000 : 400;
    const CHANNEL = 'redisson_rwlock:{shelf}';
    const on =
      (thread: string) =>
      <T = string>(command: string, ...args: Array<string | number>): Promise<T> =>
        sides.java.on(thread)<T>(command, 'shelf', ...args);
    const [a, b] = [on('a'), on('b')];

    /** Adds 1 to a counter so often, for writing; for reading, checks that it does not change meanwhile. */
    async function sections(locks: LockService, times: number): Promise<void> {
      const { admin } = sides.redis;
      const read = async (): Promise<void> => expect(await admin.get('counter')).toBe(await admin.get('counter'));
      for (let i = 0; i < times; i += 2) {
        await locks.run('shelf', read, { kind: 'read', waitTimeout: Infinity });
        await sides.count(locks, 'shelf', 1, { kind: 'write', waitTimeout: Infinity });
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
      const short = await sides.short();
      const locks = await sides.service({ renewedLease: LEASE });
      const reader = await locks.acquire('shelf', { kind: 'read' });
      await short.on('a')('read.lock', 'shelf', -1);
      expect(await b('write.tryLock', 1.5 * LEASE, -1)).toBe(false);
      expect(reader.isHeld).toBe(true);
      await short.on('a')('read.unlock', 'shelf');
      expect(await b('write.tryLock', 1.5 * LEASE, -1)).toBe(false);
      expect(await reader.release()).toBe(true);
    });
  });

  describe('semaphores', () => {
    const SECTIONS = isFull ? 2_000 : 200;
    const CHANNEL = 'redisson_sc:{pool}';
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
      const proxy = await sides.proxy();
      const crashing = await sides.service({ connection: proxy.url, renewedLease: LEASE });
      const both = await pool(crashing).acquire(2);
      const told = aborted(both.signal);
      proxy.dropRequests();
      expect(await a('expirable.tryAcquire', LEASE + LATE, -1)).not.toBe('null');
      expect(both.isHeld).toBe(false);
      await told;
    });
  });

  describe('count-down latches', () => {
    const PARTS = isFull ? 1_000 : 100;
    const CHANNEL = 'redisson_countdownlatch__channel__{parts}';
    const on =
      (thread: string) =>
      <T = string>(command: string, ...args: Array<string | number>): Promise<T> =>
        sides.java.on(thread)<T>(`latch.${command}`, 'parts', ...args);
    const [a, b] = [on('a'), on('b')];
    const untilBothListen = (): Promise<unknown> =>
      eventually(async () => (await sides.subscribersOf(CHANNEL)) === 2, { within: LATE });

    it('a latch of either side is closed for both, and set once', async () => {
      const latch = (await sides.service()).getCountDownLatch('parts');
      expect(await a('trySetCount', 3)).toBe(true);
      expect(await latch.trySetCount(5)).toBe(false);
      expect(await latch.countDown()).toBe(2);
      expect(await a('count')).toBe('2');
      expect(await latch.await(100)).toBe(false);
      await a('countDown', 2);
      expect(await latch.await()).toBe(true);
      expect(await latch.trySetCount(1)).toBe(true);
      expect(await a('trySetCount', 5)).toBe(false);
      expect(await a('await', 100)).toBe(false);
      await latch.countDown();
      expect(await a('await', LATE)).toBe(true);
    });

    it('the waiters of either side are woken by a message: none of them asks again', async () => {
      const latch = (await sides.service()).getCountDownLatch('parts');
      const [ours, theirs]: number[][] = [[], []];
      for (let i = 0; i < 21; i++) {
        await latch.trySetCount(1);
        // Each wait of Redisson subscribes anew. This library stays subscribed for some seconds.
        const waiting = [
          latch.await().then(() => ours!.push(performance.now())),
          a('await', LATE).then(() => theirs!.push(performance.now())),
        ];
        await untilBothListen();
        const from = performance.now();
        if (i % 2 === 0) await b('countDown', 1);
        else await latch.countDown();
        await Promise.all(waiting);
        for (const times of [ours!, theirs!]) times.push(times.pop()! - from);
        await eventually(async () => (await sides.subscribersOf(CHANNEL)) < 2, { within: LATE });
      }
      process.stdout.write(
        `latch: medians of wake-ups: ours ${median(ours!).toFixed(1)} ms, Redisson ${median(theirs!).toFixed(1)} ms\n`,
      );
      // Without messages a waiter here would take 3 s, and one of Redisson would wait forever.
      expect(median(ours!)).toBeLessThan(isFull ? 50 : 500);
      expect(median(theirs!)).toBeLessThan(isFull ? 50 : 500);
    });

    it('no count of either side is lost when both count at once', async () => {
      const latch = (await sides.service()).getCountDownLatch('parts');
      await latch.trySetCount(4 * PARTS);
      const waiting = [latch.await(), a('await', 60_000)];
      const ours = async (): Promise<void> => {
        for (let i = 0; i < PARTS; i++) await latch.countDown();
      };
      await Promise.all([b('countDown', PARTS), on('c')('countDown', PARTS), ours()]);
      expect(await latch.getCount()).toBe(PARTS);
      await ours();
      expect(await Promise.all(waiting)).toEqual([true, true]);
      expect(await sides.redis.admin.exists('parts')).toBe(0);
    });
  });
});
