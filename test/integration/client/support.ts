import type { ClusterBench } from '../../../lab/testbed/locks/cluster-bench.js';
import type { LockBench } from '../../../lab/testbed/locks/locks.js';

/**
 * Acquires, waits, is granted and releases with locks over `connection`, against another client. `change` changes the
 * connection of the application meanwhile.
 */
export async function exchange(
  bench: LockBench | ClusterBench,
  connection: object,
  { keys = ['k'], change = (): unknown => undefined } = {},
): Promise<void> {
  const [other, locks] = [await bench.service(), await bench.service({ connection })];
  for (const key of keys) {
    const lock = await other.acquire(key);
    await change();
    expect(await locks.tryAcquire(key)).toBeNull();
    const waiting = locks.acquire(key);
    await bench.untilWaiting(key, 1);
    await lock.release();
    const granted = await waiting;
    expect(granted.fencingToken).toBeGreaterThan(lock.fencingToken);
    expect(await other.tryAcquire(key)).toBeNull();
    expect(await granted.release()).toBe(true);
    expect((await locks.inspect(key))?.holders ?? []).toEqual([]);
  }
  expect(await locks.getSemaphore('permits', { permits: 1 }).run(() => 'in')).toBe('in');
  const both = await locks.acquire(['x', 'y']);
  expect(await both.release()).toBe(true);
}
