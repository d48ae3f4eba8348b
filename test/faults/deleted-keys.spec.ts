import { LockBench, record, redisKey, eventually } from '../../lab/testbed/locks/locks.js';

const LEASE = 1_500;
const LOST = expect.objectContaining({ code: 'LOCK_LOST', key: 'a' });

const bench = new LockBench({ leavesNothing: true });

const deletions: Array<[string, () => Promise<unknown>]> = [
  ['the state key is deleted', () => bench.redis.admin.del(redisKey('state', 'a'))],
  ['all keys of the lock are deleted', () => bench.redis.admin.flushall()],
];

describe.each(deletions)('a holder when %s', (_, deleteIt) => {
  it('is reported by verify, extend and release, which do not create the key again', async () => {
    const service = await bench.service();
    for (const ask of ['verify', 'extend', 'release'] as const) {
      const handle = await service.acquire('a');
      await deleteIt();
      if (ask === 'verify') await expect(handle.verify()).rejects.toEqual(LOST);
      if (ask === 'extend') await expect(handle.extend(5_000)).rejects.toEqual(LOST);
      if (ask === 'release') expect(await handle.release()).toBe(false);
      expect(handle.isHeld).toBe(false);
      expect(handle.signal.aborted).toBe(true);
      expect(await bench.redis.admin.exists(redisKey('state', 'a'))).toBe(0);
      expect(await handle.release()).toBe(false);
    }
  });
});

/**
 * Entries that a waiter left behind when its queue was deleted expire after twice its period and a `commandTimeout`.
 */
const SHORT_MEMORY = { commandTimeout: 500 };

describe.each(['queue', 'waiters', 'fence'] as const)('when the %s key is evicted', (role) => {
  it('does not affect the holder, and all waiters are served', async () => {
    const options = { renewedLease: LEASE, ...SHORT_MEMORY };
    const services = [await bench.service(options), await bench.service(options)];
    const events = services.map(record);
    const handle = await services[0]!.acquire('a');
    const tokens: number[] = [handle.fencingToken];
    const served = Array.from({ length: 6 }, async (_, i) => {
      const lock = await services[i % 2]!.acquire('a', { owner: `owner:${i}` });
      tokens.push(lock.fencingToken);
      await bench.redis.admin.del(redisKey(role, 'a'));
      expect(await lock.release()).toBe(true);
    });
    await eventually(async () => (await services[0]!.inspect('a'))?.waiters.length === 6);
    await bench.redis.admin.del(redisKey(role, 'a'));
    await handle.verify();
    expect(await handle.release()).toBe(true);
    await Promise.all(served);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(events.flat().filter(({ type }) => type === 'lost')).toEqual([]);
  });
});

it('a Redis that evicts any keys (allkeys-random) loses locks, but their holders are notified', async () => {
  const service = await bench.service({ renewedLease: 900 });
  const handles = await Promise.all(Array.from({ length: 20 }, (_, i) => service.acquire(`e:${i}`)));
  try {
    const used = Number(/used_memory:(\d+)/.exec(await bench.redis.admin.info('memory'))![1]);
    await bench.redis.admin.config('SET', 'maxmemory-policy', 'allkeys-random');
    await bench.redis.admin.config('SET', 'maxmemory', String(Math.floor(used / 2)));
    await eventually(() => handles.every(({ signal }) => signal.aborted));
  } finally {
    await bench.redis.admin.config('SET', 'maxmemory', '0');
    await bench.redis.admin.config('SET', 'maxmemory-policy', 'noeviction');
  }
  expect(await Promise.all(handles.map((handle) => handle.release()))).toEqual(handles.map(() => false));
  expect(await (await service.acquire('e:0')).release()).toBe(true);
});
