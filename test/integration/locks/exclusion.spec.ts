import { describe, expect, it } from '@jest/globals';
import type { LockService } from 'nestjs-redis-locks';
import { assertNoViolation } from '../../../lab/testbed/history/history.js';
import { LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();

/** As the workers do it: a read and a write that nothing but the lock keeps together. */
async function increment(service: LockService, key: string, counter: string): Promise<void> {
  await service.run(
    key,
    async () => {
      const value = Number(await bench.redis.admin.get(counter));
      await new Promise((resolve) => setImmediate(resolve));
      await bench.redis.admin.set(counter, value + 1, 'PX', 60_000);
    },
    { waitTimeout: Infinity },
  );
}

describe('many waiters for one key', () => {
  it('lose updates without a lock, so the counter proves exclusion', async () => {
    const workers = await bench.workers(2);
    // Each process locks a key of its own.
    const sections = workers.map((worker, i) =>
      worker.sections({ key: `own:${i}`, waiters: 4, times: 25, counter: 'counter' }),
    );
    const history = (await Promise.all(sections)).flat().map((hold) => ({ ...hold, key: 'a' }));
    expect(Number(await bench.redis.admin.get('counter'))).toBeLessThan(200);
    expect(() => assertNoViolation(history)).toThrow('at the same time');
  });

  it('lose no update if holders crash, which costs only their lease', async () => {
    const [service, ...workers] = [await bench.service(), ...(await bench.workers(3, { renewedLease: 600 }))];
    const done = workers.map((worker) =>
      worker.sections({ key: 'a', waiters: 4, times: 1_000_000, counter: 'counter' }).catch(() => undefined),
    );
    for (const worker of workers) {
      for (let i = 0; i < 5; i++) await increment(service, 'a', 'ours');
      await worker.process.kill();
    }
    await Promise.all(done);
    await increment(service, 'a', 'ours');
    expect(await bench.redis.admin.get('ours')).toBe('16');
  });
});
