import { assertNoViolation } from '../../../lab/testbed/history/history.js';
import { LockBench } from '../../../lab/testbed/locks/locks.js';
import { ALONE } from './support.js';

const bench = new LockBench();
const PROCESSES = 8;
const WAITERS = 8;
const TIMES = 2;
const ALL = PROCESSES * WAITERS * TIMES;

describe('8 processes × 8 waiters', () => {
  // One set of processes for all of them: starting them takes longer than their work.
  it('lose no update with an exclusive lock, and all are served', async () => {
    const workers = await bench.workers(PROCESSES);
    for (const { kind, options } of ALONE) {
      const sections = { key: kind, waiters: WAITERS, times: TIMES, counter: `counter ${kind}`, options };
      const history = (await Promise.all(workers.map((worker) => worker.sections(sections)))).flat();
      expect([kind, await bench.redis.admin.get(`counter ${kind}`)]).toEqual([kind, String(ALL)]);
      expect(history).toHaveLength(ALL);
      assertNoViolation(history);
    }

    const several = { key: ['b', 'a', 'c'] as never, waiters: WAITERS, times: 1, counter: 'counter several' };
    const sets = (await Promise.all(workers.map((worker) => worker.sections(several)))).flat();
    expect(sets).toHaveLength(PROCESSES * WAITERS);
    expect(await bench.redis.admin.get('counter several')).toBe(String(PROCESSES * WAITERS));

    const permits = { key: 'permits', waiters: WAITERS, times: TIMES, counter: 'unguarded', options: { permits: 3 } };
    const history = (await Promise.all(workers.map((worker) => worker.sections(permits)))).flat();
    expect(history).toHaveLength(ALL);
    assertNoViolation(history, { permits: 3 });
    // They were together, too: or it would be a lock and no semaphore.
    expect(() => assertNoViolation(history, { permits: 2 })).toThrow('3 of 2 permits');
    await bench.untilNothingIsLeft();
  });
});

/** The reply of `TIME`, in microseconds. */
const micros = ([seconds, rest]: ReadonlyArray<number | string>): number => Number(seconds) * 1_000_000 + Number(rest);

const KEYS = ['a', 'b', 'c', 'd', 'e'];

describe('fencing tokens', () => {
  it('grow across 2 000 acquisitions from 4 processes, DEL, FLUSHALL and a restart without persistence', async () => {
    const workers = await bench.workers(4);
    const disasters = [
      () => bench.redis.admin.del(KEYS.flatMap((key) => [`lock:fence:{${key}}`, `lock:state:{${key}}`])),
      () => bench.redis.admin.flushall(),
      () => bench.redis.restart({ empty: true }),
      () => undefined,
    ];
    let last = 0;
    for (const disaster of disasters) {
      // Several keys, so that both sides of a handoff have something to do meanwhile.
      const sections = workers.flatMap((worker) => KEYS.map((key) => worker.sections({ key, times: 25 })));
      const history = (await Promise.all(sections)).flat();
      expect(history).toHaveLength(500);
      assertNoViolation(history);
      const tokens = history.map(({ token }) => token as number);
      expect(Math.min(...tokens)).toBeGreaterThan(last);
      last = Math.max(...tokens);
      await disaster();
    }
    expect(Number.isSafeInteger(last)).toBe(true);
  });

  it('grow on a free key while the last one is ahead of the clock', async () => {
    const service = await bench.service();
    const ahead = (Date.now() + 3_600_000) * 1_000;
    await bench.redis.admin.set('lock:fence:{a}', ahead, 'PX', 600_000);
    let last = ahead;
    for (let i = 0; i < 3; i += 1) {
      const lock = await service.acquire('a');
      expect(lock.fencingToken).toBeGreaterThan(last);
      last = lock.fencingToken;
      await lock.release();
    }
    expect(last - ahead).toBeLessThan(1_000);
    expect(Number(await bench.redis.admin.get('lock:fence:{a}'))).toBeGreaterThanOrEqual(last);
  });

  it('follow the clock of the server on a new key', async () => {
    const service = await bench.service();
    // In the first ms of a second, too, of whose microseconds TIME leaves out the zeros.
    const early = new Set<number>();
    for (let i = 0; early.size < 2; i += 1) {
      const before = micros(await bench.redis.admin.time());
      const { fencingToken } = await service.acquire(`fresh-${i}`);
      const after = micros(await bench.redis.admin.time());
      expect(fencingToken).toBeGreaterThanOrEqual(before);
      expect(fencingToken).toBeLessThanOrEqual(after);
      if (fencingToken % 1_000_000 < 10_000) early.add(Math.floor(fencingToken / 1_000_000));
    }
  });
});
