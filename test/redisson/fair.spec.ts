import type { LockHandle, LockService } from 'nestjs-redis-locks';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { RunningTime } from '../../lab/testbed/wait/running-time.mjs';
import { startWorker, type WorkerProcess } from '../../lab/testbed/workers/processes.mjs';
import type { RedissonProcess } from '../../lab/testbed/workers/redisson-process.mjs';
import { besideRedisson, isFull, LATE, LEASE } from './sides.js';

const SECTIONS = isFull ? 1_000 : 100;
const QUEUE = 'redisson_lock_queue:{orders}';
const TIMES = 'redisson_lock_timeout:{orders}';
const WORKER = new URL('../../lab/testbed/workers/lock-worker.mjs', import.meta.url);
/** Within this time in ms, dead waiters are removed: 4.5 s. An overdue one takes 10 s. */
const DEAD = 8_000;
const FAIR = { fair: true, waitTimeout: '60s' } as const;

besideRedisson((sides) => {
  const on = (thread: string, java: RedissonProcess = sides.java) => {
    const call = java.on(thread);
    return <T = string>(command: string, ...args: Array<string | number>): Promise<T> =>
      call<T>(`fair.${command}`, 'orders', ...args);
  };
  const untilQueued = (count: number): Promise<unknown> =>
    eventually(async () => (await sides.redis.admin.llen(QUEUE)) === count, { within: LATE });
  const acquire = (locks: LockService): Promise<LockHandle> => locks.acquire('orders', FAIR);
  const untilNothingIsLeft = (): Promise<unknown> =>
    eventually(async () => (await sides.redis.admin.exists('orders', QUEUE, TIMES)) === 0, { within: LATE });

  it('waiters of both sides are served in the order of arrival', async () => {
    const [one, two] = [await sides.service(), await sides.service()];
    const holder = await acquire(one);
    const order: number[] = [];
    const waiting: Array<Promise<void>> = [];
    for (let i = 0; i < 8; i++) {
      const java = on(`t${i}`);
      const served =
        i % 2 === 0
          ? java('lock', -1).then(async () => {
              order.push(i);
              await java('unlock');
            })
          : acquire(i % 4 === 1 ? one : two).then(async (lock) => {
              order.push(i);
              await lock.release();
            });
      waiting.push(served);
      await untilQueued(i + 1);
    }
    await holder.release();
    await Promise.all(waiting);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    await untilNothingIsLeft();
  });

  it('sections of both sides at once lose no update', async () => {
    const locks = await sides.service();
    const each = SECTIONS / 4;
    const ours = (): Promise<void> => sides.count(locks, 'orders', each, FAIR);
    await Promise.all([on('a')('sections', 'counter', each), on('b')('sections', 'counter', each), ours(), ours()]);
    expect(await sides.redis.admin.get('counter')).toBe(String(4 * each));
    await untilNothingIsLeft();
  });

  it('a waiter of either side that gives up leaves its place', async () => {
    const locks = await sides.service();
    const holder = await acquire(locks);
    const javaGivesUp = on('a')('tryLock', 500, -1);
    await untilQueued(1);
    const weGiveUp = locks.tryAcquire('orders', { fair: true, waitTimeout: 500 });
    const last = on('b')('lock', -1);
    expect(await javaGivesUp).toBe(false);
    expect(await weGiveUp).toBeNull();
    await untilQueued(1);
    await holder.release();
    await last;
    expect(await sides.redis.admin.exists(QUEUE, TIMES)).toBe(0);
    await on('b')('unlock');
  });

  it('a dead waiter here keeps Redisson from a free lock for at most the lease and 10 s', async () => {
    const proxy = await sides.proxy();
    const [locks, crashing] = [
      await sides.service({ renewedLease: LEASE }),
      await sides.service({ connection: proxy.url }),
    ];
    const holder = await acquire(locks);
    // Waiters of Redisson sleep until the end of the lease that they have seen.
    const first = on('a')('lock', LEASE);
    await untilQueued(1);
    const lost = acquire(crashing).catch(() => undefined);
    await untilQueued(2);
    proxy.dropRequests();
    const last = on('b')('lock', -1);
    await untilQueued(3);
    await holder.release();
    await first;
    await on('a')('unlock');
    const from = performance.now();
    await last;
    // Redisson would take 5 min for a dead waiter of its own. Here it is the rest of a lease and 10 s.
    expect(performance.now() - from).toBeLessThan(LEASE + 10_000 + LATE);
    await on('b')('unlock');
    proxy.heal();
    await (await lost)?.release();
  });

  describe('a process of this library with waiters', () => {
    let worker: WorkerProcess;
    beforeEach(async () => {
      worker = await startWorker(WORKER);
      await worker.call('start', { connection: sides.redis.url, protocol: 'redisson' });
    });
    afterEach(() => worker.kill());

    /** Its next acquisition, once it is in the queue and subscribed. */
    async function workerWaits(place: number): Promise<{ readonly granted: Promise<unknown> }> {
      const granted = worker.call('acquire', 'orders', FAIR).catch(() => undefined);
      await untilQueued(place);
      const owner = (await sides.redis.admin.lindex(QUEUE, -1))!;
      const channel = `redisson_lock__channel:{orders}:${owner}`;
      await eventually(async () => (await sides.subscribersOf(channel)) === 1, { within: LATE });
      return { granted };
    }

    it('is killed: another client here that waits removes its waiters within 5 s, and wakes Redisson', async () => {
      const locks = await sides.service();
      await on('a')('lock', -1);
      await workerWaits(1);
      await workerWaits(2);
      const theirs = on('b')('lock', -1);
      await untilQueued(3);
      const ours = acquire(locks);
      await untilQueued(4);
      await worker.kill();
      await on('a')('unlock');
      const time = new RunningTime();
      await theirs;
      // Redisson would send requests without a pause for 10 s.
      expect(time.stop().ran).toBeLessThan(DEAD);
      await on('b')('unlock');
      await (await ours).release();
      await untilNothingIsLeft();
    });

    it('is killed: beside waiters of Redisson alone, its waiters are passed over when their time is over', async () => {
      const locks = await sides.service({ renewedLease: LEASE });
      const holder = await acquire(locks);
      await workerWaits(1);
      const theirs = on('b')('lock', -1);
      await untilQueued(2);
      await worker.kill();
      await locks.close();
      await holder.release();
      await theirs;
      await on('b')('unlock');
      await untilNothingIsLeft();
    });
  });

  it('a crash of a waiter of Redisson is passed over when its time is over', async () => {
    const short = await sides.short();
    const locks = await sides.service({ renewedLease: LEASE });
    const holder = await acquire(locks);
    on('a', short)('tryLock', LEASE, -1).catch(() => undefined);
    await untilQueued(1);
    await short.kill();
    const next = acquire(locks);
    await untilQueued(2);
    await holder.release();
    await (await next).release();
    await untilNothingIsLeft();
  });
});
