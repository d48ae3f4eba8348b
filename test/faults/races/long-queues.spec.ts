import { expect, it } from '@jest/globals';
import { SCRIPTS } from '../../../lib/store/redis/scripts.generated.js';
import type { LockService } from '../../../lib/service/lock.service.js';
import { redisKey } from '../../../lab/testbed/locks/fault-locks.js';
import { AT_ONCE, LockBench, timed } from '../../../lab/testbed/locks/locks.js';

/** More than one script looks at, twice over. */
const MANY = 250;
const KEY = 'a';
const KEYS = (['state', 'queue', 'waiters', 'fence', 'tombstones'] as const).map((role) => redisKey(role, KEY));

const bench = new LockBench();

/** Clients that took a place each and are gone, their places not stale yet. */
async function joinAndVanish(count: number): Promise<void> {
  const pipeline = bench.redis.admin.pipeline();
  for (let i = 0; i < count; i++) {
    const request = [`gone${i}:1`, 'exclusive', '', 30_000, 1, '0 1 3000 60000 3000 1 '];
    pipeline.eval(SCRIPTS.acquire.source, KEYS.length, ...KEYS, `lock:client:\n${KEY}`, ...request);
  }
  await pipeline.exec();
  await bench.untilWaiting(KEY, count);
}

/**
 * A caller holds the key, and in each client of `waiting` a caller waits behind a long queue of waiters that have gone.
 */
async function queueUp(...waiting: LockService[]) {
  const holder = await bench.service();
  const lock = await holder.acquire(KEY);
  await joinAndVanish(MANY);
  const waiters = waiting.map((service) => timed(() => service.acquire(KEY)));
  await bench.untilWaiting(KEY, MANY + new Set(waiting).size);
  return { lock, waiters };
}

it('a release reaches the first present waiter behind more than 100 absent ones', async () => {
  const waiter = await bench.service();
  const { lock, waiters } = await queueUp(waiter);
  expect(await lock.release()).toBe(true);
  const { ran } = await timed(() => waiters[0]!);
  expect(ran).toBeLessThan(AT_ONCE);
  expect(await (await waiters[0]!).value!.release()).toBe(true);
});

it('a release with a request for the next local waiter reaches it, too', async () => {
  const waiter = await bench.service();
  const { lock, waiters } = await queueUp(waiter, waiter);
  await lock.release();
  const first = (await waiters[0]!).value!;
  const releasing = timed(() => first.release());
  const { ran } = await timed(() => waiters[1]!);
  expect(ran).toBeLessThan(AT_ONCE);
  expect((await releasing).value).toBe(true);
  expect(await (await waiters[1]!).value!.release()).toBe(true);
});

it('a forced release reaches it, too', async () => {
  const waiter = await bench.service();
  const { waiters } = await queueUp(waiter);
  await waiter.forceRelease(KEY);
  const { ran } = await timed(() => waiters[0]!);
  expect(ran).toBeLessThan(AT_ONCE);
  expect(await (await waiters[0]!).value!.release()).toBe(true);
});

it('a single try finds the key free despite them', async () => {
  const service = await bench.service();
  const { lock } = await queueUp();
  await lock.release();
  const { value, ran } = await timed(() => service.tryAcquire(KEY));
  expect(value?.isHeld).toBe(true);
  expect(ran).toBeLessThan(AT_ONCE);
  expect(await value!.release()).toBe(true);
});
