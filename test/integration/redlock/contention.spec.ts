import { describe, expect, it } from '@jest/globals';
import { isLockStoreError } from '../../../lib/errors/index.js';
import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import type { LockService } from '../../../lib/service/lock.service.js';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(5);

class Counter {
  value = 0;
  inside = 0;
  most = 0;

  /** A read and a write with a pause between them, which nothing but the lock keeps together. */
  async increment(): Promise<void> {
    this.most = Math.max(this.most, ++this.inside);
    const value = this.value;
    await new Promise((resolve) => setTimeout(resolve, 1));
    this.value = value + 1;
    this.inside -= 1;
  }
}

async function commandsOf(): Promise<number> {
  const stats = await Promise.all(bench.masters.map((master) => master.commandStats()));
  return stats.reduce((sum, { evalsha = 0 }) => sum + evalsha, 0);
}

async function resetStats(): Promise<void> {
  await Promise.all(bench.masters.map((master) => master.resetCommandStats()));
}

/** One try. On a busy machine the masters may take longer than a try waits for them. */
const tryOnce = (service: LockService): Promise<LockHandle | null> =>
  service.tryAcquire('a').catch((error: unknown) => {
    if (isLockStoreError(error) && error.transient) return null;
    throw error;
  });

describe('many clients on several masters', () => {
  it('resolve split votes of waiters and single tries, while masters freeze and resume', async () => {
    const services = await bench.serviceList(8, { commandTimeout: 5_000 });
    const counter = new Counter();
    let expected = 0;
    const end = performance.now() + 4_000;
    const work = services.map(async (service, i) => {
      while (performance.now() < end) {
        const lock = i < 4 ? await service.acquire('a', { waitTimeout: 30_000 }) : await tryOnce(service);
        if (lock === null) {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
          continue;
        }
        await counter.increment();
        expected += 1;
        await lock.release();
      }
    });
    for (let i = 0; i < 8; i += 1) {
      const frozen = [bench.masters[i % 5]!, bench.masters[(i + 2) % 5]!];
      await Promise.all(frozen.map((master) => master.pause()));
      await new Promise((resolve) => setTimeout(resolve, 300));
      await Promise.all(frozen.map((master) => master.resume()));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await Promise.all(work);
    expect(counter).toMatchObject({ value: expected, most: 1 });
    process.stdout.write(`5 masters, two of them frozen in turn: ${expected} sections in 4 s\n`);
    await bench.untilNothingIsLeft();
  });

  it('wait for the leases of crashed rivals with few requests', async () => {
    const connection = bench.urls.slice(0, 3);
    const lease = 1_500;
    // As if two clients had died when each of them had reached one master.
    const dead = await Promise.all(connection.slice(0, 2).map((url) => bench.service({ connection: url })));
    const since = performance.now();
    await Promise.all(dead.map((service) => service.acquire('a', { expire: lease })));
    const services = await bench.serviceList(3, { connection });
    await resetStats();
    const counter = new Counter();
    await Promise.all(services.map((service) => service.run('a', () => counter.increment())));
    expect(performance.now() - since).toBeGreaterThan(lease - 50);
    // After the lease they ask again within a second, one after the other.
    expect(performance.now() - since).toBeLessThan(lease + 5_000);
    expect(counter).toMatchObject({ value: 3, most: 1 });
    const perClient = (await commandsOf()) / 3;
    process.stdout.write(`3 clients that wait ${lease} ms for two dead ones: ${perClient.toFixed(0)} commands each\n`);
    expect(perClient).toBeLessThan(100);
    await bench.untilNothingIsLeft();
  });
});
