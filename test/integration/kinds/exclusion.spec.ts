import { describe, expect, it } from '@jest/globals';
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
