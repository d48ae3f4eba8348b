import { expect } from '@jest/globals';
import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';

/** Releases a lock, and expects that its waiter gets it within `soon` ms, with a larger token. Then releases that, too. */
export async function expectHandoff(lock: LockHandle, waiting: Promise<LockHandle>, soon: number): Promise<void> {
  const since = performance.now();
  expect(await lock.release()).toBe(true);
  const next = await waiting;
  expect(performance.now() - since).toBeLessThan(soon);
  expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
  expect(await next.release()).toBe(true);
}
