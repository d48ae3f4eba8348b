import { setTimeout as sleep } from 'node:timers/promises';
import { LockBench, timed, eventually } from '../../lab/testbed/locks/locks.js';
import { LOST, startLockWorker } from '../../lab/testbed/workers/lock-process.js';

/** ms after a resume within which a holder that does not look is notified; a second, and more on a busy machine. */
const SOON = 2_500;

const bench = new LockBench();
const MACHINE = { canBeSuspended: true };

it('notifies a holder that does not check within about a second after the resume', async () => {
  await using worker = await startLockWorker({ connection: bench.redis.url }, MACHINE);
  const mine = await worker.acquire('a', { expire: 2_500 });
  await worker.sleep(() => bench.untilFree('a'));
  const { ran, error } = await timed(worker.lost(mine));
  expect(error).toBeUndefined();
  expect(ran).toBeLessThan(SOON);
});

it('does not rely on a pushed grant from before the resume', async () => {
  const times = { grantTimeout: 800 };
  await using worker = await startLockWorker({ connection: bench.redis.url, ...times }, MACHINE);
  const [one, other] = [await bench.service(times), await bench.service(times)];
  const { lock: first, waiting: theirs } = await bench.contended(one, worker);
  let second = first;
  await worker.sleep(async () => {
    await first.release();
    // The sleeper is granted the key and does not use it.
    second = await other.acquire('a', { waitTimeout: 10_000 });
  });
  let hasIt = false;
  void theirs.then(() => (hasIt = true));
  // It reads the grant, and either accepts it or queues again.
  await eventually(async () => hasIt || (await one.inspect('a'))?.waiters.length === 1);
  expect(hasIt).toBe(false);
  await second.verify();
  expect(await second.release()).toBe(true);
  expect((await theirs).token).toBeGreaterThan(second.fencingToken);
  expect(await worker.release(await theirs)).toBe(true);
  await bench.untilNothingIsLeft();
});

it('does not rely on a reply to `acquire` that is read after the suspension', async () => {
  await using worker = await startLockWorker({ connection: bench.redis.url }, MACHINE);
  const service = await bench.service();
  await bench.redis.pause();
  const theirs = worker.acquire('a', { expire: 500, waitTimeout: 20_000 });
  // Its requests have reached Redis by then.
  await worker.lines();
  await sleep(100);
  let mine = undefined as Awaited<ReturnType<typeof service.acquire>> | undefined;
  await worker.sleep(async () => {
    await bench.redis.resume();
    // Its token lasts longer than the lease.
    await eventually(() => bench.redis.admin.exists('lock:fence:{a}'));
    mine = await service.acquire('a', { waitTimeout: 10_000 });
  });
  let hasIt = false;
  void theirs.then(() => (hasIt = true));
  await eventually(async () => hasIt || (await service.inspect('a'))?.waiters.length === 1);
  expect(hasIt).toBe(false);
  await mine!.verify();
  expect(await mine!.release()).toBe(true);
  expect((await theirs).token).toBeGreaterThan(mine!.fencingToken);
});

describe.each([
  ['watched by the watchdog', 600, undefined],
  ['of a fixed lease', 600, { expire: 600 }],
  ['of a short lease, after less than a second', 400, { expire: 400 }],
])('a lock %s, on a machine that was suspended for longer than its lease', (_, lease, options) => {
  it('is not held on the first line after the resume, after another client had it', async () => {
    await using worker = await startLockWorker({ connection: bench.redis.url, renewedLease: lease }, MACHINE);
    const service = await bench.service();
    const mine = await worker.acquire('a', options);
    let fencingToken = 0;
    const view = await worker.lookAfterResume(mine, async () => {
      const theirs = await service.acquire('a', { waitTimeout: 10_000 });
      fencingToken = theirs.fencingToken;
    });
    expect(view).toEqual(LOST);
    expect(await worker.release(mine)).toBe(false);
    const [held] = (await service.inspect('a'))!.holders;
    expect(held).toMatchObject({ fencingToken });
  });
});
