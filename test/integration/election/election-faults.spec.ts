import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../lab/chaos/schedule/random.mjs';
import { assertNoViolation, now } from '../../../lab/testbed/history/history.js';
import { AT_ONCE, between, LockBench, type LockWorker } from '../../../lab/testbed/locks/locks.js';

/** Short, so that a lease ends within a test. */
const LEASE = 1_000;
const OPTIONS = { renewedLease: LEASE, commandTimeout: 500, grantTimeout: 500 };

describe('candidates in several processes', () => {
  const bench = new LockBench();

  /** Of candidates that stand one behind the other. */
  async function standing(count: number): Promise<LockWorker[]> {
    const workers = await bench.workers(count, OPTIONS);
    for (const [i, worker] of workers.entries()) {
      await worker.stand('a');
      if (i === 0) await worker.told('elected');
      else await bench.untilWaiting('a', i);
    }
    return workers;
  }

  it('replace a killed leader soon after its lease', async () => {
    const [leader, next] = (await standing(2)) as [LockWorker, LockWorker];
    const killed = now();
    await leader.process.kill();
    const { at } = await next.told('elected');
    expect(between(killed, at)).toBeLessThan(LEASE + AT_ONCE);
  });

  it('replace a leader that stalls past its lease, and it knows on its next line', async () => {
    const [one, two] = (await standing(2)) as [LockWorker, LockWorker];
    const stall = one.process.call<{ led: boolean; leads: boolean }>('stall', LEASE + 600);
    const { at } = await two.told('elected');
    expect(await stall).toEqual({ led: true, leads: false });
    const deposed = await one.told('deposed');
    expect(deposed.code).toBe('LOCK_LOST');
    expect(at).toBeLessThan(deposed.at);
    // And stands again.
    await bench.untilWaiting('a', 1);
    await two.stop();
    await one.told('elected');
  });

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
