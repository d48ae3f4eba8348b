import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import {
  blockEventLoop,
  FaultLocks,
  nothingLeftBehind,
  startFaultWorker,
  timed,
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

  it('throws from assertHeld on the first line, without another check before', async () => {
    const service = await locks.start(redis.url, { renewedLease: LEASE });
    const handle = await service.acquire('a', options);
    blockEventLoop(LEASE);
    expect(() => handle.assertHeld()).toThrow(LOST);
  });

  it("is reported to the caller of `run`, with the task's value", async () => {
    const service = await locks.start(redis.url, { renewedLease: LEASE });
    const task = (): string => {
      blockEventLoop(LEASE);
      return 'value of the task';
    };
    const { error } = await timed(service.run('a', task, options));
    expect(error).toEqual(LOST);
    expect(error.result).toBe('value of the task');
    expect(await service.run('b', task, { ...options, onLost: 'ignore' })).toBe('value of the task');
    await nothingLeftBehind(redis);
  });
});

it('does not affect the next holder of the key', async () => {
  const service = await locks.start(redis.url, { renewedLease: LEASE });
  await using worker = await startFaultWorker({ connection: redis.url });
  const handle = await service.acquire('a');
  const theirs = worker.call<{ token: number }>('acquire', 'theirs', 'a');
  // Long enough for the other process to be granted the key and to renew its first lease.
  blockEventLoop(LEASE + 300);
  expect(handle.isHeld).toBe(false);
  const { token } = await theirs;
  expect(token).toBeGreaterThan(handle.fencingToken);
  expect(await handle.release()).toBe(false);
  expect(await worker.call('view', 'theirs')).toMatchObject({ isHeld: true });
  expect(await worker.call('release', 'theirs')).toBe(true);
  await nothingLeftBehind(redis);
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

it("a `run` that was stopped beyond its lease ends with LockLostError and the task's value", async () => {
  await using worker = await startFaultWorker({ connection: redis.url, renewedLease: LEASE });
  const { answer, lock } = await stopBeyondLease(worker, 'stallInRun', 'a');
  expect(answer).toEqual({
    seen: { stopped: true, isHeld: false, assertHeld: 'LOCK_LOST', aborted: true, remaining: 0 },
    code: 'LOCK_LOST',
    result: 'value of the task',
  });
  await lock.verify();
  expect(await lock.release()).toBe(true);
  await nothingLeftBehind(redis);
});

it('a waiter that was stopped as it was served releases the lock to the others in time', async () => {
  await using worker = await startFaultWorker({ connection: redis.url, grantTimeout: 400 });
  const [one, other] = [await locks.start(redis.url), await locks.start(redis.url, { grantTimeout: 400 })];
  const handle = await one.acquire('a');
  const theirs = timed(worker.call<{ token: number }>('acquire', 'theirs', 'a'));
  await eventually(async () => (await one.inspect('a'))?.waiters.length === 1);
  worker.pause();
  const mine = other.acquire('a');
  await eventually(async () => (await one.inspect('a'))?.waiters.length === 2);
  const since = performance.now();
  await handle.release();
  // The stopped process is there, as far as Redis can know: it costs the first lease, not the full one of 30 s.
  const lock = await mine;
  expect(performance.now() - since).toBeLessThan(400 + 2_000);
  worker.resume();
  await lock.verify();
  const { fencingToken } = lock;
  expect(await lock.release()).toBe(true);
  // The push that it finds on waking is worth nothing any more; it has asked again.
  const { value } = await theirs;
  expect(value!.token).toBeGreaterThan(fencingToken);
  expect(await worker.call('release', 'theirs')).toBe(true);
  await nothingLeftBehind(redis);
});
