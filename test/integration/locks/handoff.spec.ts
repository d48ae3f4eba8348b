import { describe, expect, it } from '@jest/globals';
import { between, LockBench, AT_ONCE } from '../../../lab/testbed/locks/locks.js';
import { now } from '../../../lab/testbed/history/history.js';

const bench = new LockBench();

describe('a handoff', () => {
  it('takes milliseconds in the median of 200 handoffs across processes', async () => {
    const [starter, workers] = [await bench.service(), await bench.workers(4)];
    const start = await starter.acquire('a');
    const sections = workers.map((worker) => worker.sections({ key: 'a', times: 60 }));
    await bench.untilWaiting('a', 4);
    await start.release();
    const history = (await Promise.all(sections)).flat().sort((one, other) => one.token! - other.token!);
    const handoffs = history
      .map((hold, i) => ({ from: history[i - 1], to: hold }))
      .filter(({ from, to }) => from !== undefined && from.who !== to.who)
      .map(({ from, to }) => between(from!.to!, to.from))
      .sort((a, b) => a - b);
    expect(handoffs.length).toBeGreaterThanOrEqual(200);

    const quantile = (part: number): number => handoffs[Math.floor((handoffs.length - 1) * part)]!;
    const shown = [0, 0.5, 0.9, 0.99, 1].map((part) => `p${part * 100} ${quantile(part).toFixed(2)} ms`);
    process.stdout.write(`${handoffs.length} handoffs across processes: ${shown.join(', ')}\n`);
    // A few milliseconds on a quiet machine; a waiter that has to ask would take seconds.
    expect(quantile(0.5)).toBeLessThan(300);
  });

  const lease = 1_000;

  it('takes a lease and a little at most when the holder is killed', async () => {
    const [doomed, waiter] = [await bench.worker({ renewedLease: lease }), await bench.worker()];
    await doomed.acquire('a');
    const next = waiter.acquire('a');
    await bench.untilWaiting('a', 1);
    await doomed.process.kill();
    const killed = now();
    expect(between(killed, (await next).at)).toBeLessThan(lease + AT_ONCE);
  });

  it('takes a lease and a little at most when the holder is killed that was just handed the lock', async () => {
    const options = { renewedLease: lease };
    const [first, doomed, waiter] = [await bench.service(options), await bench.worker(options), await bench.worker()];
    const lock = await first.acquire('a');
    const second = doomed.acquire('a');
    await bench.untilWaiting('a', 1);
    const third = waiter.acquire('a');
    await bench.untilWaiting('a', 2);
    await lock.release();
    await second;
    await doomed.process.kill();
    const killed = now();
    expect(between(killed, (await third).at)).toBeLessThan(lease + AT_ONCE);
  });

  it('takes at most grantTimeout if the next waiter crashes at the moment of the grant', async () => {
    const options = { renewedLease: '30s', grantTimeout: 400 } as const;
    const [holder, doomed, last] = [
      await bench.service(options),
      await bench.worker(options),
      await bench.service(options),
    ];
    const lock = await holder.acquire('a');
    void doomed.acquire('a').catch(() => undefined);
    await bench.untilWaiting('a', 1);
    doomed.process.pause(); // its subscription stands, so it counts as present
    const acquisition = last.acquire('a');
    await bench.untilWaiting('a', 2);
    const since = now();
    await lock.release();
    await doomed.process.kill();
    expect((await acquisition).isHeld).toBe(true);
    expect(between(since)).toBeLessThan(400 + AT_ONCE);
  });
});
