import { describe, expect, it } from '@jest/globals';
import { FaultLocks, LOST, untilFree } from '../../lab/testbed/locks/fault-locks.js';
import { useRedis } from '../../lab/testbed/locks/fault-setups.js';
import type { RedisServer } from '../../lab/testbed/servers/redis-server.mjs';
import { SuspendedWorker } from '../../lab/testbed/workers/suspended-worker.js';

const HOUR = 3_600_000;

let redis: RedisServer;
const locks = new FaultLocks();

useRedis(locks, (started) => (redis = started));

describe.each([
  ['watched by the watchdog', 600, undefined],
  ['of a fixed lease', 600, { expire: 600 }],
  ['of a short lease, after less than a second', 400, { expire: 400 }],
])('a lock %s, on a machine that was suspended for longer than its lease', (_, lease, options) => {
  it('is not held on the first line after the resume, after another client had it', async () => {
    await using worker = await SuspendedWorker.start({ connection: redis.url, renewedLease: lease });
    const service = await locks.start(redis.url);
    await worker.acquire('mine', 'a', options);
    let fencingToken = 0;
    const view = await worker.viewAfterResume('mine', async () => {
      const theirs = await service.acquire('a', { waitTimeout: 10_000 });
      fencingToken = theirs.fencingToken;
    });
    expect(view).toEqual(LOST);
    expect(await worker.release('mine')).toBe(false);
    const [held] = (await service.inspect('a'))!.holders;
    expect(held).toMatchObject({ fencingToken });
  });

  it('is not held on the first line even if the wall clock was set forward or back', async () => {
    const views = [HOUR, -HOUR].map(async (step) => {
      const key = `a ${step}`;
      await using worker = await SuspendedWorker.start({ connection: redis.url, renewedLease: lease });
      await worker.acquire('mine', key, options);
      const view = await worker.viewAfterResume('mine', () => untilFree(redis, key), step);
      return view;
    });
    expect(await Promise.all(views)).toEqual([LOST, LOST]);
  });
});
