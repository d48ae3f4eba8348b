import { SCRIPTS } from '../../../lib/store/redis/scripts.generated.js';
import { unawaited } from '../../integration/kinds/support.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { now } from '../../../lab/testbed/history/history.js';
import { AT_ONCE, between, expectHandoff, LockBench, redisKey } from '../../../lab/testbed/locks/locks.js';

const KEY = 'a';
const FAIR = { fair: true } as const;
const bench = new LockBench();

/** How often each command has been called so far, in scripts and outside of them. */
async function calls(): Promise<number> {
  const stats = await bench.redis.admin.info('commandstats');
  return [...stats.matchAll(/^cmdstat_(?!info|config|evalsha|eval)[^:]+:calls=(\d+)/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}

/** Clients that took a place each and are gone, their places not stale yet. */
async function joinAndVanish(count: number, mode = 'exclusive'): Promise<void> {
  const roles = ['state', 'queue', 'waiters', 'fence', 'tombstones', 'limit', 'ends'] as const;
  const keys = roles.map((role) => redisKey(role, KEY));
  const pipeline = bench.redis.admin.pipeline();
  for (let i = 0; i < count; i++) {
    const request = [`gone${i}:1`, mode, '', 30_000, 1, '0 1 3000 60000 3000 1 '];
    pipeline.eval(SCRIPTS.acquire.source, keys.length, ...keys, `lock:client:\n${KEY}`, ...request);
  }
  await pipeline.exec();
  await bench.untilWaiting(KEY, count);
}

describe('a client that does not take its grant', () => {
  it('delays the others once, however many of its fair waiters wait, and gets its places back when it retries', async () => {
    const options = { grantTimeout: 700, commandTimeout: 20_000, renewedLease: 10_000 };
    const [holder, last] = await bench.pair(options);
    const frozen = await bench.worker(options);
    const lock = await holder.acquire(KEY);
    const order: number[] = [];
    const theirs = Array.from({ length: 50 }, async (_, i) => {
      const handle = await frozen.acquire(KEY, { ...FAIR, waitTimeout: '2m' });
      order.push(i);
      await frozen.release(handle);
    });
    await bench.untilWaiting(KEY, 50);
    const waiting = last.acquire(KEY, { ...FAIR, waitTimeout: '60s' });
    await bench.untilWaiting(KEY, 51);
    frozen.process.pause();
    const released = now();
    await lock.release();
    const mine = await waiting;
    // One grant that is not taken, and not one for each of its waiters.
    expect(between(released)).toBeLessThan(options.grantTimeout + 2 * AT_ONCE);

    frozen.process.resume();
    // The first one asks again, behind the others, which have asked as well: parked tickets are 2^52 farther back.
    await eventually(async () => (await bench.redis.admin.zcount(redisKey('queue', KEY), '-inf', 2 ** 52)) === 50);
    await mine.release();
    await Promise.all(theirs);
    // All of them are served in the order of their requests, except the first one, which lost its place with its grant.
    // The same happens to another one whose process is too busy to take its grant in time.
    const fallenBehind = order.filter((place, i) => i > 0 && place < order[i - 1]!);
    expect(order).toHaveLength(50);
    expect(fallenBehind).toContain(0);
    expect(fallenBehind.length).toBeLessThan(4);
    await bench.untilNothingIsLeft();
  });
});

describe('absent waiters with places that are not stale', () => {
  /** As if a minute had passed for them. */
  async function makeStale(): Promise<void> {
    const { admin } = bench.redis;
    for (const [id, text] of Object.entries(await admin.hgetall(redisKey('waiters', KEY)))) {
      if (!id.startsWith('gone')) continue;
      const parts = text.split(' ');
      parts[3] = '1';
      await admin.hset(redisKey('waiters', KEY), id, parts.join(' '));
    }
  }

  it('cost Redis nothing after the first cycle', async () => {
    const [holder, other] = await bench.pair({ localHandoffs: 1 });
    const cycles = async (count: number): Promise<number> => {
      const before = await calls();
      for (let i = 0; i < count; i++) {
        await Promise.all([holder, other].map((service) => service.run(KEY, () => undefined)));
      }
      return ((await calls()) - before) / count;
    };
    const lock = await holder.acquire(KEY);
    await joinAndVanish(1_000);
    await lock.release();
    await cycles(1);
    const withDead = await cycles(20);
    await bench.redis.admin.flushall();
    const without = await cycles(20);
    expect(withDead).toBeLessThan(2 * without + 10);
  });

  const modes = [
    { of: 'writers', holds: [{ kind: 'read' }], dead: 'exclusive', section: { kind: 'read' } },
    {
      of: 'requests for two permits',
      holds: [{ permits: 3 }, { permits: 3 }],
      dead: 'permits:2/3',
      section: { permits: 3 },
    },
  ] as const;
  it.each(modes)('cost Redis nothing as $of that the holds do not admit', async ({ holds, dead, section }) => {
    const [holder, other] = await bench.pair();
    const cycles = async (count: number): Promise<number> => {
      const before = await calls();
      for (let i = 0; i < count; i++) await other.run(KEY, () => undefined, section);
      return ((await calls()) - before) / count;
    };
    const held = await Promise.all(holds.map((options) => holder.acquire(KEY, options)));
    await cycles(1);
    const without = await cycles(20);
    await joinAndVanish(1_000, dead);
    await cycles(1);
    expect(await cycles(20)).toBeLessThan(2 * without + 20);
    await Promise.all(held.map((handle) => handle.release()));
  });

  it('are dropped once they are stale', async () => {
    const [holder, other] = await bench.pair();
    const lock = await holder.acquire(KEY);
    await joinAndVanish(30);
    await lock.release();
    await makeStale();
    const { admin } = bench.redis;
    for (let i = 0; i < 8; i++) {
      const mine = await holder.acquire(KEY);
      const next = other.acquire(KEY);
      await eventually(async () =>
        (await admin.zrange(redisKey('queue', KEY), 0, '-1')).some((id) => !id.startsWith('gone')),
      );
      await expectHandoff(mine, next);
    }
    expect(await bench.waiters(KEY)).toEqual([]);
    await bench.untilNothingIsLeft();
  });
});

it('a fair waiter is served in its turn even if a fair waiter behind it gives up', async () => {
  const [holder, crowd, fair, giving] = await bench.serviceList(4);
  const lock = await holder.acquire(KEY);
  const served: string[] = [];
  const many = Array.from({ length: 6 }, () => unawaited(crowd.run(KEY, () => served.push('crowd'))));
  await bench.untilWaiting(KEY, 1);
  const waiting = unawaited(fair.run(KEY, () => served.push('fair'), FAIR));
  await bench.untilWaiting(KEY, 2);
  const enough = new AbortController();
  const givingUp = unawaited(giving.acquire(KEY, { ...FAIR, signal: enough.signal }));
  await bench.untilWaiting(KEY, 3);
  enough.abort(new Error('enough'));
  await expect(givingUp).rejects.toThrow('enough');
  await bench.untilWaiting(KEY, 2);
  await lock.release();
  await Promise.all([...many, waiting]);
  expect(served.indexOf('fair')).toBe(1);
  await bench.untilNothingIsLeft();
});
