import { abortOf, expectHandoff, LockBench, timed, eventually, lockError } from '../../lab/testbed/locks/locks.js';
import type { ServerAddress } from '../../lib/store/redis/line.js';

const BOUND = 500;
const LATE = 1_500;

const bench = new LockBench({ records: true });

it('fails with LockStoreError within its limit while Redis is down, and works again once it is back', async () => {
  const one = await bench.service({ commandTimeout: BOUND, renewedLease: 900 });
  const other = await bench.service({ commandTimeout: BOUND });
  const held = await one.acquire('held');
  const released = await one.acquire('released');
  const fixed = await one.acquire('fixed', { expire: 30_000 });
  const aborted = abortOf(held.signal);
  const queued = timed(other.acquire('held', { waitTimeout: Infinity }));
  await eventually(() => bench.told('contended').length > 0);
  await bench.redis.kill();
  const since = performance.now();

  const outcomes = {
    acquire: timed(other.acquire('new', { waitTimeout: Infinity })),
    shortWait: timed(other.acquire('new', { waitTimeout: 200 })),
    tryAcquire: timed(other.tryAcquire('new')),
    run: timed(other.run('other', () => 'never', { waitTimeout: 60_000 })),
    release: timed(released.release()),
    verify: timed(fixed.verify()),
    extend: timed(fixed.extend(20_000)),
    inspect: timed(other.inspect('new')),
    forceRelease: timed(other.forceRelease('new')),
    isLocked: timed(other.getLock('new').isLocked()),
    tryLock: timed(other.getLock('new').tryLock()),
  };
  for (const [name, outcome] of Object.entries(outcomes)) {
    const { error, took } = await outcome;
    expect([name, error?.code]).toEqual([name, 'LOCK_STORE']);
    expect([name, took < BOUND + LATE]).toEqual([name, true]);
  }
  expect((await outcomes.acquire).error.message).toMatch(/ECONNREFUSED|closed/);
  // It had a place in the queue; it asks again, and gets an error once no server answers for long enough.
  expect(await queued).toMatchObject({ error: { code: 'LOCK_STORE' } });
  expect(await aborted).toBeLessThan(since + 900 + LATE);
  expect(held.isHeld).toBe(false);
  // This hold stays valid to the end of its lease, although Redis lost its data: fencing tokens cover that case.
  expect(fixed.isHeld).toBe(true);
  // One line for the outage, not one for each attempt to connect.
  expect(bench.lines.filter((line) => line.startsWith('error'))).toHaveLength(2);

  const lateComer = await timed(other.acquire('new', { waitTimeout: Infinity }));
  expect(lateComer).toMatchObject({ error: { code: 'LOCK_STORE' } });
  expect(lateComer.ran).toBeLessThan(BOUND + LATE);

  await bench.redis.start();
  // A caller that asks before the connection is back gets an error at once.
  const again = await eventually(() => other.acquire('new', { waitTimeout: 5_000 }));
  await eventually(() => one.inspect('new'));
  const waiting = one.acquire('new', { waitTimeout: 5_000 });
  await bench.untilWaiting('new', 1);
  expect(await again.release()).toBe(true);
  const next = await waiting;
  expect(next.fencingToken).toBeGreaterThan(again.fencingToken);
  await next.release();
  // The data are gone, and the next request says so.
  expect(await held.release()).toBe(false);
  expect((await timed(fixed.verify())).error).toMatchObject({ code: 'LOCK_LOST' });
  await bench.untilNothingIsLeft();
});

it('starts without Redis: the start fails within its limit, and locks work once Redis is up', async () => {
  await bench.redis.kill();
  const service = bench.make({ commandTimeout: BOUND });
  const start = await timed(service.start());
  expect(start.error).toMatchObject({ code: 'LOCK_STORE' });
  expect(start.error.message).toMatch(/ECONNREFUSED/);
  expect(start.ran).toBeLessThan(BOUND + LATE);
  await bench.redis.start();
  const handle = await eventually(() => service.acquire('a', { waitTimeout: 5_000 }));
  const waiting = service.acquire('a', { owner: 'another', waitTimeout: 5_000 });
  await eventually(() => bench.told('contended').length > 0);
  await expectHandoff(handle, waiting);
});

it.each([
  ['Sentinels', (at: ServerAddress) => ({ sentinels: [at], name: 'main' })],
  ['the nodes of a Cluster', (at: ServerAddress) => ({ cluster: [at] })],
])('starts without %s: the error says why they cannot be reached', async (_, connectionTo) => {
  const { host, port } = bench.redis;
  await bench.redis.kill();
  const service = bench.make({ connection: connectionTo({ host, port }), commandTimeout: BOUND });
  const why = expect.stringMatching(/ECONNREFUSED/);
  expect((await timed(service.start())).error).toMatchObject({ code: 'LOCK_STORE', message: why });
  expect((await timed(service.tryAcquire('a'))).error).toMatchObject({ code: 'LOCK_STORE', key: 'a', message: why });
});

it('calls of a long outage fail at once, and their commands are not sent once Redis is back', async () => {
  const service = await bench.service({ commandTimeout: BOUND });
  await bench.redis.kill();
  await eventually(async () => (await timed(service.inspect('new'))).error?.message.includes('has been unreachable'));
  const lock = service.getLock('new');
  const semaphore = service.getSemaphore('new', { permits: 2 });
  const calls: ReadonlyArray<() => Promise<unknown>> = [
    () => service.tryAcquire('new'),
    () => service.inspect('new'),
    () => service.forceRelease('new'),
    () => lock.isLocked(),
    () => semaphore.availablePermits(),
    () => semaphore.setPermits(3),
  ];
  for (const call of calls) {
    const { error, took } = await timed(Promise.all(Array.from({ length: 100 }, call)));
    expect(error).toMatchObject({ code: 'LOCK_STORE', key: 'new', transient: true });
    expect(took).toBeLessThan(BOUND / 2);
  }
  await expect(service.list().next()).rejects.toMatchObject({ code: 'LOCK_STORE', transient: true });
  expect(await service.health()).toMatchObject({
    reachable: false,
    error: expect.stringMatching(/^Redis has been unreachable for \d+ ms: connect ECONNREFUSED/),
  });
  await bench.redis.start();
  await eventually(async () => (await service.health()).reachable);
  const stats = await bench.redis.commandStats();
  expect(stats['evalsha']).toBeLessThan(100);
});

it('a command that waits for the next connect ends when its client closes', async () => {
  const service = bench.make({ commandTimeout: 600_000 });
  await service.start();
  await bench.redis.pause();
  const answer = timed(service.inspect('a'));
  await bench.redis.kill();
  await eventually(() => bench.lines.some((line) => line.startsWith('error')));
  await service.close();
  expect((await answer).error).toEqual(lockError('LOCK_STORE', 'has shut down'));
});
