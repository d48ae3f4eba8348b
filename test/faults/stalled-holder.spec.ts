import { describe, expect, it } from '@jest/globals';
import {
  blockEventLoop,
  FaultLocks,
  nothingLeftBehind,
  startFaultWorker,
  type HolderView,
} from '../../lab/testbed/locks/fault-locks.js';
import { useRedis } from '../../lab/testbed/locks/fault-setups.js';
import type { WorkerProcess } from '../../lab/testbed/workers/processes.mjs';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';

const LEASE = 500;
const LOST = expect.objectContaining({ code: 'LOCK_LOST', key: 'a' });

let redis: RedisServer;
const locks = new FaultLocks();

useRedis(locks, (started) => (redis = started));

describe.each([
  ['watched by the watchdog', {}],
  ['of a fixed lease', { expire: LEASE }],
])('a lock %s, after the event loop was blocked for longer than its lease', (_, options) => {
  it('is not held on the first line afterwards', async () => {
    const service = await locks.start(redis.url, { renewedLease: LEASE });
    const heard: unknown[] = [];
    const handle = await service.acquire('a', { ...options, onLost: (error) => heard.push(error) });
    expect(handle.isHeld).toBe(true);
    blockEventLoop(LEASE);
    expect(handle.isHeld).toBe(false);
    expect(() => handle.assertHeld()).toThrow(LOST);
    expect(handle.signal.aborted).toBe(true);
    expect(handle.signal.reason).toEqual(LOST);
    expect(handle.remainingTime()).toBe(0);
    expect(handle.holdCount).toBe(0);
    expect(heard).toEqual([LOST]);
    await expect(handle.verify()).rejects.toEqual(LOST);
    await expect(handle.extend(1_000)).rejects.toEqual(LOST);
    expect(await handle.release()).toBe(false);
    expect(locks.told('lost')).toHaveLength(1);
    await nothingLeftBehind(redis);
  });
});

/** Stops the worker while it spins, lets another client take the key, and continues the worker. */
async function stopBeyondLease(worker: WorkerProcess, method: string, what: string) {
  const service = await locks.start(redis.url);
  const answer = worker.call(method, LEASE, 10_000, what);
  await worker.next(({ event }) => event === 'spinning');
  worker.pause();
  const lock = await service.acquire('a', { waitTimeout: 5_000 });
  // However late it was stopped, it was stopped for longer than the 100 ms that it looks for.
  blockEventLoop(250);
  worker.resume();
  return { answer: await answer, lock };
}

it('a holder that was stopped beyond its lease knows on its first line, and its late release has no effect', async () => {
  await using worker = await startFaultWorker({ connection: redis.url, renewedLease: LEASE });
  await worker.call('acquire', 'mine', 'a');
  const { answer, lock } = await stopBeyondLease(worker, 'stallInHand', 'mine');
  const expected: HolderView & { stopped: boolean } = {
    stopped: true,
    isHeld: false,
    assertHeld: 'LOCK_LOST',
    aborted: true,
    remaining: 0,
  };
  expect(answer).toEqual(expected);
  expect(await worker.call('release', 'mine')).toBe(false);
  await lock.verify();
  expect(await lock.release()).toBe(true);
  expect(await worker.call('escaped')).toEqual([]);
  await nothingLeftBehind(redis);
});
