import { describe, expect, it } from '@jest/globals';
import { between, LockBench, AT_ONCE } from '../../../lab/testbed/locks/locks.js';
import { now } from '../../../lab/testbed/history/history.js';

const bench = new LockBench();

describe('a handoff', () => {
  const lease = 1_000;

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
