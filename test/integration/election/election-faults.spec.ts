import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../lab/chaos/schedule/random.mjs';
import { assertNoViolation } from '../../../lab/testbed/history/history.js';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

/** Short, so that a lease ends within a test. */
const LEASE = 1_000;
const OPTIONS = { renewedLease: LEASE, commandTimeout: 500, grantTimeout: 500 };

describe('candidates in several processes', () => {
  const bench = new LockBench();

  it('never have two leaders, whatever fails', async () => {
    const lease = 500;
    const workers = await bench.workers(4, { ...OPTIONS, renewedLease: lease });
    await Promise.all(workers.map((worker) => worker.stand('a')));
    const random = new Random(42);
    const until = performance.now() + 9_000;
    while (performance.now() < until) {
      const worker = random.among(workers);
      const what = random.next();
      if (what < 0.4) {
        // Resigns the current leader; the call does not wait for a stalled process.
        for (const { process } of workers) process.send({ method: 'resign' });
      } else if (what < 0.6) {
        worker.process.pause();
        await sleep(random.next() * 2 * lease);
        worker.process.resume();
      } else if (what < 0.75) {
        worker.process.send({ method: 'stall', args: [Math.round(random.next() * 2 * lease)] });
      } else if (what < 0.85) {
        await bench.redis.admin.call('CLIENT', 'KILL', 'TYPE', random.among(['normal', 'pubsub']), 'SKIPME', 'yes');
      } else {
        await worker.stop();
        await worker.stand('a');
      }
      await sleep(random.next() * 150);
    }
    const terms = (await Promise.all(workers.map((worker) => worker.terms()))).flat();
    // It was a run worth looking at.
    expect(terms.length).toBeGreaterThan(6);
    expect(new Set(terms.map(({ who }) => who)).size).toBeGreaterThan(2);
    assertNoViolation(terms);
  });
});
