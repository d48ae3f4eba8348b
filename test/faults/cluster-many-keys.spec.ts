import { expect, it } from '@jest/globals';
import type { LockHandle } from '../../lib/index.js';
import { ClusterBench } from '../../lab/testbed/locks/cluster-bench.js';
import { redisKey } from '../../lab/testbed/locks/redis-key.mjs';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';

const KEYS = Array.from({ length: 300 }, (_, i) => `many:${i}`);
const bench = new ClusterBench();

it('one client waits for 300 keys in as many slots, of which some move, and is granted each of them', async () => {
  const [holder, waiter] = await bench.serviceList(2, { commandTimeout: '10s' });
  const { cluster } = bench;
  const held = await Promise.all(KEYS.map((key) => holder!.acquire(key)));
  const granted = new Set<string>();
  const waiting = KEYS.map(async (key): Promise<LockHandle> => {
    const handle = await waiter!.acquire(key, { waitTimeout: Infinity });
    granted.add(key);
    return handle;
  });
  const waits = async (key: string): Promise<boolean> => (await cluster.admin.zcard(redisKey('queue', key))) === 1;
  await eventually(async () => (await Promise.all(KEYS.map(waits))).every(Boolean), {
    what: 'a place for each of the keys',
    within: 60_000,
  });
  for (const key of KEYS.slice(0, 5)) await cluster.migrate(key);
  expect(granted.size).toBe(0);
  expect(await Promise.all(held.map((handle) => handle.release()))).toEqual(KEYS.map(() => true));
  const handles = await Promise.all(waiting);
  expect(handles.every(({ isHeld }) => isHeld)).toBe(true);
  await waiter!.close();
  await bench.untilNothingIsLeft();
});
