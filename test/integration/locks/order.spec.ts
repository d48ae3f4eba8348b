import { describe, expect, it } from '@jest/globals';
import type { LockService } from 'nestjs-redis-locks';
import { inTurn, LockBench } from '../../../lab/testbed/locks/locks.js';

const bench = new LockBench();
/** How many of its own waiters a client may serve with one grant from Redis. */
const BATCH = 16;

/** The callers that got the lock, in order; each leaves at once. */
class Order {
  readonly served: string[] = [];
  private readonly visits: Array<Promise<void>> = [];

  enter(service: LockService, key: string, name: string): void {
    const visit = async () => {
      const lock = await service.acquire(key, { waitTimeout: Infinity });
      this.served.push(name);
      await lock.release();
    };
    this.visits.push(visit());
  }

  async all(): Promise<string[]> {
    await Promise.all(this.visits);
    return this.served;
  }
}

describe('the order of waiters', () => {
  it('is the order of arrival in one process', async () => {
    const service = await bench.service();
    const lock = await service.acquire('a');
    const order = new Order();
    const names = Array.from({ length: 50 }, (_, i) => `${i}`);
    for (const name of names) order.enter(service, 'a', name);
    await lock.release();
    expect(await order.all()).toEqual(names);
  });

  it('is the order of arrival across processes', async () => {
    const [holder, ...others] = await bench.serviceList(21);
    const lock = await holder!.acquire('a');
    const order = new Order();
    const names = await inTurn(20, async (i) => {
      order.enter(others[i]!, 'a', `${i}`);
      await bench.untilWaiting('a', i + 1);
      return `${i}`;
    });
    await lock.release();
    expect(await order.all()).toEqual(names);
  });

  it('serves a newcomer after one batch of a client with many waiters', async () => {
    const [crowd, newcomer] = await bench.serviceList(2, { localHandoffs: BATCH, localHandoffTime: '30s' });
    const lock = await crowd!.acquire('a');
    const order = new Order();
    for (let waiter = 0; waiter < 60; waiter++) order.enter(crowd!, 'a', 'crowd');
    order.enter(newcomer!, 'a', 'newcomer');
    await bench.untilWaiting('a', 1);
    await lock.release();
    const served = await order.all();
    expect(served.indexOf('newcomer')).toBeLessThanOrEqual(2 * BATCH);
  });

  it('lets no request overtake waiters, whatever it requests', async () => {
    const [holder, waiter, late] = await bench.serviceList(3);
    const lock = await holder!.acquire('a');
    const waiting = waiter!.acquire('a');
    await bench.untilWaiting('a', 1);
    expect(await late!.tryAcquire('a', { owner: 'another' })).toBeNull();
    await lock.release();
    await waiting;
    expect(await late!.tryAcquire('a')).toBeNull();
  });
});
