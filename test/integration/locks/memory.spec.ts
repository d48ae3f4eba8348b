import { describe, expect, it } from '@jest/globals';
import { countReachable } from '../../../lab/testbed/history/reachable.js';
import { inTurn, LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

describe('many keys, one after the other', () => {
  it('leave nothing behind in the process', async () => {
    const [service, other] = [await bench.service(), await bench.service()];
    const use = async (from: number) => {
      for (let i = from; i < from + 400; i++) {
        const key = `key:${i}`;
        await service.run(key, () =>
          service
            .getLock(key)
            .lock()
            .then((lock) => lock.release()),
        );
        await service.run(key, () => undefined, { owner: `owner:${i}`, holdAtLeast: 1 });
      }
      const contended = async (i: number) => {
        const lock = await other.acquire(`contended:${i}`);
        const waits = [
          service.run(lock.key, () => undefined),
          service.run(lock.key, () => undefined, { waitTimeout: 5 }),
        ];
        await lock.release();
        await Promise.allSettled(waits);
      };
      await inTurn(40, (i) => contended(from + i));
    };
    await use(0);
    const before = countReachable(service);
    await use(1_000);
    await use(2_000);
    expect(countReachable(service) - before).toBeLessThan(200); // for 1760 more acquisitions
  });
});
