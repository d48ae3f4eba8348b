import type { ChainableCommander, Redis } from 'ioredis';
import type { LockHandle } from '../../lib/service/handles/lock-handle.js';
import { LockBench, redisKey, timed, lockError } from '../../lab/testbed/locks/locks.js';
import { keysWithTtl } from '../../lab/testbed/history/leaks.mjs';

const ROLES = ['state', 'queue', 'waiters', 'fence', 'tombstones'] as const;

/** Data of another application, of every type. */
const FOREIGN: Array<[string, (admin: Redis | ChainableCommander, key: string) => unknown]> = [
  ['string', (admin, key) => admin.set(key, 'of another program')],
  ['list', (admin, key) => admin.rpush(key, 'of', 'another', 'program')],
  ['hash', (admin, key) => admin.hset(key, 'of', 'another program')],
  ['set', (admin, key) => admin.sadd(key, 'of', 'another', 'program')],
  ['sorted set', (admin, key) => admin.zadd(key, 1, 'of another program')],
  ['stream', (admin, key) => admin.xadd(key, '*', 'of', 'another program')],
];

/** The type that the library itself keeps under a role: it cannot know that data of that type is not its own. */
const OWN_TYPES: Record<(typeof ROLES)[number], string> = {
  state: '',
  queue: 'sorted set',
  waiters: 'hash',
  fence: '',
  tombstones: 'sorted set',
};

const isHandle = (value: unknown): value is LockHandle =>
  typeof value === 'object' && value !== null && 'release' in value;

const cases = ROLES.flatMap((role) =>
  FOREIGN.filter(([type]) => type !== OWN_TYPES[role]).map(([type, write]) => ({ role, type, write })),
);

/** The note that a waiter has left is kept for twice as long. */
const QUICK = { commandTimeout: 500 };

const bench = new LockBench({ leavesNothing: true });

/** The content of a key as the server would move it elsewhere, and whether it has a TTL. */
const contentOf = async (key: string): Promise<unknown> => [
  (await bench.redis.admin.dumpBuffer(key))?.toString('base64'),
  await bench.redis.admin.pttl(key),
];

describe.each(cases)('a foreign $type at the $role key', ({ role, write }) => {
  const foreign = redisKey(role, 'a');
  const waits = { waitTimeout: 150 };

  /** All commands of the library on the key, by a holder if there is one and by others. */
  async function useTheKey(): Promise<any[]> {
    const service = await bench.service(QUICK);
    const outcomes = [
      await timed(service.tryAcquire('a')),
      await timed(service.acquire('a', waits)),
      await timed(service.acquire('a', { ...waits, owner: 'me' })),
      await timed(service.inspect('a')),
      await timed(service.forceRelease('a')),
    ];
    const releases = outcomes.map(({ value }) => timed(isHandle(value) ? value.release() : Promise.resolve(false)));
    return [...outcomes, ...(await Promise.all(releases))].flatMap(({ error }) => error ?? []);
  }

  it('is refused with LockStoreError or left alone, and neither deleted nor changed', async () => {
    await write(bench.redis.admin, foreign);
    const before = await contentOf(foreign);
    for (const error of await useTheKey()) {
      expect(error).toEqual(
        lockError('LOCK_STORE', /the key belongs to another application: choose another keyPrefix.*WRONGTYPE/s, {
          transient: false,
          cause: expect.any(Error),
        }),
      );
    }
    expect(await contentOf(foreign)).toEqual(before);
    expect((await keysWithTtl(bench.redis.admin)).filter(({ key, ttl }) => key !== foreign && ttl < 0)).toEqual([]);
    await bench.redis.admin.del(foreign);
  });

  it('is neither deleted nor changed if it appears while the lock is held and has waiters', async () => {
    const [one, other] = await bench.pair({ renewedLease: 300, ...QUICK });
    const handle = await one.acquire('a');
    const waiting = timed(other.acquire('a', { waitTimeout: 600 }));
    // In one step, or a waiter that asks in between would have its own there.
    const change = bench.redis.admin.multi().del(foreign);
    write(change, foreign);
    await change.exec();
    const before = await contentOf(foreign);
    await useTheKey();
    for (const { error } of [
      await timed(handle.verify()),
      await timed(handle.extend(500)),
      await timed(handle.release()),
    ]) {
      if (error) expect(['LOCK_STORE', 'LOCK_LOST']).toContain(error.code);
    }
    const { value, error } = await waiting;
    if (error) expect(['LOCK_STORE', 'LOCK_TIMEOUT']).toContain(error.code);
    await value?.release().catch(() => undefined);
    expect(await contentOf(foreign)).toEqual(before);
    expect((await keysWithTtl(bench.redis.admin)).filter(({ key, ttl }) => key !== foreign && ttl < 0)).toEqual([]);
    // Once it is away everything works, and nothing of before is in the way.
    await bench.redis.admin.del(foreign);
    const later = await one.acquire('a', { waitTimeout: 3_000 });
    expect(await later.release()).toBe(true);
  });
});
