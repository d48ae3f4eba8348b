import { describe, expect, it } from '@jest/globals';
import { RunningTime } from '../../../testbed/wait/running-time.mjs';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);

describe('calls while all masters are frozen', () => {
  for (const count of [1, 60]) {
    it(`end 300 ms after their waitTimeout at the latest: ${count} keys`, async () => {
      const service = await bench.service();
      await service.run('a', () => undefined);
      await Promise.all(bench.masters.map((master) => master.pause()));
      const keys = Array.from({ length: count }, (_, i) => `job:${i}`);
      const time = new RunningTime();
      const error = await service.acquire(keys, { waitTimeout: 100 }).catch((failure: unknown) => failure);
      const { ran } = time.stop();
      expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
      expect(ran).toBeLessThan(400);
    });
  }
});
