import { describe, expect, it } from '@jest/globals';
import type { LockService } from '../../../lib/service/lock.service.js';
import { timed } from '../../../lab/testbed/locks/fault-locks.js';
import { RedlockBench } from './support.js';

/** By how many ms a call ends later than its `waitTimeout`, at most: as docs/options.md says. */
const LATEST = 300;

/** ms for a few round trips to servers on this machine, and the time that a frozen master is given. */
const AT_ONCE = 200;
/** ms that a single try takes at most, as docs/failover.md says, and some more. */
const LONGEST_TRY = 2_100 + 100;

const bench = new RedlockBench(3);

/** Services that have their scripts and connections, while some masters do not answer. */
async function servicesWithFrozen(masters: number, count = 1): Promise<LockService[]> {
  const services = await bench.serviceList(count);
  for (const [i, service] of services.entries()) await service.run(`warm:${i}`, () => undefined);
  await Promise.all(bench.masters.slice(0, masters).map((master) => master.pause()));
  return services;
}

/** On a busy machine a try may end without an answer, and in no other way. */
function refuseLasting(errors: readonly unknown[]): void {
  for (const error of errors) {
    if (error !== undefined) expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
  }
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
  it('get a free key at once while one of three masters is frozen', async () => {
    const [service] = await servicesWithFrozen(1);
    for (const key of ['a', ['b', 'c', 'd']]) {
      // The machine may hold up the masters, so not every try has to be fast.
      let fastest = Infinity;
      for (let round = 0; round < 10; round += 1) {
        const { value, error, ran } = await timed(service!.tryAcquire(key));
        refuseLasting([error]);
        if (error === undefined) expect(value).not.toBeNull();
        if (value) fastest = Math.min(fastest, ran);
        await value?.release();
      }
      expect(fastest).toBeLessThan(AT_ONCE);
    }
  });

  it('have one winner while one of three masters is frozen', async () => {
    const services = await servicesWithFrozen(1, 3);
    const winners: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      const tries = await Promise.all(services.map((service) => timed(service.tryAcquire(`job:${round}`))));
      refuseLasting(tries.map(({ error }) => error));
      const locks = tries.flatMap(({ value }) => value ?? []);
      expect(locks.length).toBeLessThanOrEqual(1);
      if (locks.length > 0) winners.push(Math.max(...tries.map(({ ran }) => ran)));
      await Promise.all(locks.map((lock) => lock.release()));
    }
    expect(Math.min(...winners)).toBeLessThan(AT_ONCE);
  });

  it('fail with a transient error while two of three masters are frozen, in a limited time', async () => {
    const [service] = await servicesWithFrozen(2);
    for (const key of ['a', ['b', 'c', 'd']]) {
      const { error, ran } = await timed(service!.tryAcquire(key));
      expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
      expect(ran).toBeLessThan(LONGEST_TRY);
    }
  });
});
