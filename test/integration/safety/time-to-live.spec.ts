import { expectHandoff, LockBench, eventually } from '../../../lab/testbed/locks/locks.js';
import { keysWithTtl } from '../../../lab/testbed/history/leaks.mjs';

/** The longest that anything is kept: the fence, for ten minutes beyond the lease. */
const LONGEST_TTL = 600_000 + 30_000;

const bench = new LockBench();

// A chaos run looks for keys without a TTL all the time.
it('every key of a contended lock has a TTL, and lives under the prefix', async () => {
  const options = { renewedLease: 900, grantTimeout: 400, keyPrefix: 'shop:lock' };
  const [one, other] = [await bench.service(options), await bench.service(options)];
  const held = await one.acquire('a');
  const waiting = other.acquire('a', { waitTimeout: '60s' });
  const keys = await eventually(async () => {
    const found = await keysWithTtl(bench.redis.admin);
    const roles = found.map(({ key }) => /^shop:lock:(\w+):/.exec(key)?.[1]);
    expect(roles).toEqual(expect.arrayContaining(['fence', 'queue', 'state', 'waiters']));
    expect(roles).not.toContain(undefined);
    return found;
  });
  expect(keys.filter(({ ttl }) => ttl < 0 || ttl > LONGEST_TTL)).toEqual([]);
  await expectHandoff(held, waiting);
  await bench.untilNothingIsLeft();
});

it('the number of permits, and latches, have a TTL', async () => {
  const service = await bench.service();
  const semaphore = service.getSemaphore('mails', { permits: 2 });
  await semaphore.setPermits(3);
  const permit = await semaphore.acquire();
  const latch = service.getCountDownLatch('parts');
  await latch.trySetCount(2, { expire: '1h' });
  const opened = latch.await();
  await latch.countDown();
  const ttls = new Map((await keysWithTtl(bench.redis.admin)).map(({ key, ttl }) => [key, ttl]));
  const hour = 3_600_000;
  for (const [key, longest] of [
    ['lock:limit:{mails}', 7 * 24 * hour],
    ['lock:state:{mails}', 30_000],
    ['lock:latch:{parts}', hour],
    ['lock:counted:{parts}', hour],
  ] as const) {
    expect([key, ttls.get(key)! > 0.9 * longest, ttls.get(key)! <= longest]).toEqual([key, true, true]);
  }
  expect([...ttls].filter(([, ttl]) => ttl <= 0)).toEqual([]);
  await latch.countDown();
  expect(await opened).toBe(true);
  await permit.release();
  expect((await keysWithTtl(bench.redis.admin)).filter(({ ttl }) => ttl <= 0)).toEqual([]);
});

it('the TTL of the state is the longest of its leases, whichever of them ends', async () => {
  const service = await bench.service();
  const state = 'lock:state:{a}';
  const [long, short] = [
    await service.acquire('a', { owner: 'me', expire: 20_000 }),
    await service.acquire('a', { owner: 'me', expire: 1_000, holdAtLeast: 500 }),
  ];
  const ttl = (): Promise<number> => bench.redis.admin.pttl(state);
  expect(await ttl()).toBeGreaterThan(19_000);
  // A lock that is kept for its holdAtLeast does not shorten the other holds of the owner.
  expect(await short.release()).toBe(true);
  expect(await ttl()).toBeGreaterThan(19_000);
  await long.extend(30_000);
  expect(await ttl()).toBeGreaterThan(29_000);
  expect(await long.release()).toBe(true);
  expect(await ttl()).toBeLessThanOrEqual(500);
  await bench.untilNothingIsLeft();
});
