import { describe, expect, it } from '@jest/globals';
import { redisKey } from '../../../lab/testbed/locks/fault-locks.js';
import { assertNoViolation, now, type ValidHold } from '../../../lab/testbed/history/history.js';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);

describe('fencing tokens of several masters', () => {
  it('grow if their clocks differ, whichever majority has the lock', async () => {
    const services = await bench.serviceList(4, { commandTimeout: '5s' });
    const holds: ValidHold[] = [];
    const hour = 3_600_000_000;
    const ahead = Date.now() * 1_000;
    // As if the first master's clock were two hours ahead, and the second one's one.
    await bench.masters[0]!.admin.set(redisKey('fence', 'a'), ahead + 2 * hour, 'PX', 600_000);
    await bench.masters[1]!.admin.set(redisKey('fence', 'a'), ahead + hour, 'PX', 600_000);

    const pass = async (times: number): Promise<void> => {
      await Promise.all(
        services.map(async (service, i) => {
          for (let n = 0; n < times; n += 1) {
            const lock = await service.acquire('a');
            const from = now();
            await new Promise((resolve) => setImmediate(resolve));
            holds.push({ key: 'a', who: `service ${i}`, token: lock.fencingToken, from, to: now() });
            await lock.release();
          }
        }),
      );
    };
    await pass(5);
    for (const master of bench.masters) {
      await master.pause();
      await pass(3);
      await master.resume();
      await pass(1);
    }
    expect(holds).toHaveLength(4 * (5 + 3 * 4));
    assertNoViolation(holds);
    await bench.untilNothingIsLeft();
  });

  it('grow if the largest is on a master that is no longer asked', async () => {
    const service = await bench.service({ commandTimeout: 2_000 });
    await bench.masters[0]!.admin.set(redisKey('fence', 'a'), Date.now() * 2_000, 'PX', 600_000);
    const first = await service.acquire('a');
    await first.release();
    await bench.masters[0]!.kill();
    const second = await service.acquire('a');
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    const info = await service.inspect('a');
    expect(info?.holders[0]?.fencingToken).toBe(second.fencingToken);
    await second.release();
  });
});
