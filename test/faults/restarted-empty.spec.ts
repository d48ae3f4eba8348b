import { abortOf, LockBench } from '../../lab/testbed/locks/locks.js';
import { KINDS } from '../integration/kinds/support.js';

const LEASE = 2_500;

const bench = new LockBench({ leavesNothing: true });

it.each(KINDS)('a Redis that restarts empty: holders are notified, waiters are served: $kind', async ({ options }) => {
  const [one, other] = await bench.pair({ renewedLease: LEASE });
  const held = await one.acquire('a', options);
  const fixed = await one.acquire('fixed', { ...options, expire: '30s' });
  const waiting = other.acquire('a', { kind: 'write', waitTimeout: '30s' });
  await bench.untilWaiting('a', 1);
  const lost = abortOf(held.signal);
  await bench.redis.restart({ empty: true });
  const back = performance.now();
  const next = await waiting;
  expect(next.fencingToken).toBeGreaterThan(held.fencingToken);
  // Renewals are sent every third of a lease, and the first answer reports the loss.
  expect((await lost) - back).toBeLessThan(LEASE);
  expect(held.isHeld).toBe(false);
  expect(await held.release()).toBe(false);
  await expect(fixed.verify()).rejects.toMatchObject({ code: 'LOCK_LOST' });
  await next.verify();
  expect(await next.release()).toBe(true);
});
