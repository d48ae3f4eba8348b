import { describe, expect, it } from '@jest/globals';
import type { LockService } from '../../../lib/service/lock.service.js';
import { timed } from '../../../testbed/locks/fault-locks.js';
import { RedlockBench } from './support.js';

/** By how many ms a call ends later than its `waitTimeout`, at most: as docs/options.md says. */
const LATEST = 300;

const bench = new RedlockBench(3);

/** Services that have their scripts and connections, while some masters do not answer. */
async function servicesWithFrozen(masters: number, count = 1): Promise<LockService[]> {
  const services = await bench.serviceList(count);
  for (const [i, service] of services.entries()) await service.run(`warm:${i}`, () => undefined);
  await Promise.all(bench.masters.slice(0, masters).map((master) => master.pause()));
  return services;
}

describe('calls while all masters are frozen', () => {
  for (const count of [1, 60]) {
    it(`end 300 ms after their waitTimeout at the latest: ${count} keys`, async () => {
      const [service] = await servicesWithFrozen(3);
      const keys = Array.from({ length: count }, (_, i) => `job:${i}`);
      const { error, ran } = await timed(service!.acquire(keys, { waitTimeout: 100 }));
      expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
      expect(ran).toBeLessThan(100 + LATEST);
    });
  }
});

describe('single tries', () => {
  it('get a free key while one of three masters is frozen', async () => {
    const [service] = await servicesWithFrozen(1);
    for (const key of ['a', ['b', 'c', 'd']]) {
      const { value, ran } = await timed(service!.tryAcquire(key));
      console.log('one frozen', ran, value !== null);
      await value!.release();
    }
  });

  it('have one winner while one of three masters is frozen', async () => {
    const services = await servicesWithFrozen(1, 3);
    for (let i = 0; i < 10; i += 1) {
      const tries = await Promise.all(services.map((service) => timed(service.tryAcquire(`job:${i}`))));
      console.log(tries.map(({ ran, value, error }) => `${Math.round(ran)} ${error?.message ?? (value !== null)}`).join(', '));
      await Promise.all(tries.map(({ value }) => value?.release()));
    }
  });

  it('report while two of three masters are frozen', async () => {
    const [service] = await servicesWithFrozen(2);
    for (const key of ['a', ['b', 'c', 'd']]) {
      const { error, ran } = await timed(service!.tryAcquire(key));
      console.log('two frozen', ran, error?.message, (error as any)?.transient);
    }
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await Promise.all(bench.masters.map((master) => master.resume()));
    await bench.untilNothingIsLeft();
    for (let i = 0; i < 3; i += 1) {
    const { error, ran, value } = await timed(service!.tryAcquire('a'));
      console.log('resumed', ran, error?.message, (error as any)?.transient);
      await value?.release();
    }
  });
});
