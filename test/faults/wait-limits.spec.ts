import type { LockService } from '../../lib/service/lock.service.js';
import { LockBench, record, timed, eventually, lockError } from '../../lab/testbed/locks/locks.js';

/** By how many ms a call ends later than its `waitTimeout`, plus `timeout` of `replicas`, at most: as docs/options.md says. */
const LATEST = 300;
const WAITS = [0, 1, 100, 400];
const REPLICAS = { min: 1, timeout: 100 };

type Call = (service: LockService, waitTimeout: number) => Promise<unknown>;

/** Every way to wait for a lock, and how many ms its `waitTimeout` does not include. */
const CALLS: ReadonlyArray<readonly [string, Call, number]> = [
  ['acquire', (service, waitTimeout) => service.acquire('a', { waitTimeout }), 0],
  ['tryAcquire', (service, waitTimeout) => service.tryAcquire('a', { waitTimeout }), 0],
  ['run', (service, waitTimeout) => service.run('a', () => undefined, { waitTimeout }), 0],
  ['a reader', (service, waitTimeout) => service.acquire('a', { kind: 'read', waitTimeout }), 0],
  ['a fair request', (service, waitTimeout) => service.acquire('a', { fair: true, waitTimeout }), 0],
  ['an owner', (service, waitTimeout) => service.acquire('a', { owner: 'me', waitTimeout }), 0],
  ['tryLock', (service, waitTimeout) => service.getLock('a').tryLock(waitTimeout), 0],
  ['several keys', (service, waitTimeout) => service.acquire(['b', 'c', 'd'], { waitTimeout }), 0],
  ['replicas', (service, waitTimeout) => service.acquire('e', { waitTimeout, replicas: REPLICAS }), REPLICAS.timeout],
  ['a latch', (service, waitTimeout) => service.getCountDownLatch('f').await({ waitTimeout }), 0],
  ['few permits', (service, waitTimeout) => service.getSemaphore('s', { permits: 3 }).acquire(2, { waitTimeout }), 0],
  // More than the object was made with: setPermits may have raised the number.
  ['many permits', (service, waitTimeout) => service.getSemaphore('s', { permits: 3 }).acquire(4, { waitTimeout }), 0],
  ['tryAcquire of many permits', (service, wait) => service.getSemaphore('s', { permits: 3 }).tryAcquire(4, wait), 0],
  [
    'run with many permits',
    (service, waitTimeout) => service.getSemaphore('s', { permits: 3 }).run(() => undefined, { units: 4, waitTimeout }),
    0,
  ],
];

const bench = new LockBench({ leavesNothing: true });

/** How all calls with all waits ended. `ran` leaves out the time for which the machine did not let this process run. */
async function endings(service: LockService) {
  const calls = CALLS.flatMap(([name, call, more]) =>
    WAITS.map(async (wait) => ({ name, wait, more, ...(await timed(call(service, wait))) })),
  );
  return Promise.all(calls);
}

/** The calls that ended too late, or with another error than that of a failing Redis. */
const wrong = (ended: Awaited<ReturnType<typeof endings>>): string[] =>
  ended
    .filter(({ wait, more, error, ran }) => {
      return error?.code !== 'LOCK_STORE' || error.transient !== true || ran > wait + more + LATEST;
    })
    .map(({ name, wait, ran, error }) => `${name}, ${wait} ms: ${error?.code} after ${Math.round(ran)} ms`);

describe('every call ends within 300 ms after its waitTimeout', () => {
  it('while Redis is frozen', async () => {
    const service = await bench.service();
    await bench.redis.pause();
    // Node compiles what these calls run: on a busy machine that alone takes longer than the limit leaves.
    await endings(service);
    expect(wrong(await endings(service))).toEqual([]);
    await bench.redis.resume();
  });

  it('after Redis was killed', async () => {
    const service = await bench.service();
    await bench.redis.kill();
    expect(wrong(await endings(service))).toEqual([]);
  });
});

describe('a line that goes dead during the wait for replicas', () => {
  describe.each([
    ['one key', 'a'],
    ['several keys', ['a', 'b', 'c']],
  ])('for %s', (_, key) => {
    it.each([0, 100, 400])('at WAIT: a call with a waitTimeout of %i ms ends on time', async (waitTimeout) => {
      const { proxy, service } = await bench.proxied();
      await service.run(key, () => undefined);
      const stop = proxy.onCommand(({ name }) => {
        if (!/^wait$/i.test(name)) return;
        proxy.dropReplies();
        proxy.dropRequests();
      });
      const { error, ran } = await timed(service.acquire(key, { waitTimeout, replicas: REPLICAS }));
      expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
      expect(ran).toBeLessThan(waitTimeout + REPLICAS.timeout + LATEST);
      stop();
      proxy.heal();
    });

    it('at the release after it: the call ends on time, and the release continues without it', async () => {
      const { proxy, service } = await bench.proxied();
      await service.run(key, () => undefined);
      let waits = 0;
      const stop = proxy.onCommand(({ name }) => {
        if (/^wait$/i.test(name)) waits += 1;
        else if (waits > 0 && /^evalsha$/i.test(name)) proxy.dropRequests();
      });
      const { error, ran } = await timed(service.acquire(key, { waitTimeout: 1_000, replicas: REPLICAS }));
      expect(error).toEqual(lockError('LOCK_STORE', '0 of at least 1 replicas'));
      expect(ran).toBeLessThan(1_000 + REPLICAS.timeout + LATEST);
      stop();
      proxy.heal();
      await bench.untilFree('a');
    });
  });
});

describe('several keys', () => {
  // 60 ms: no time is left for a second request when the first reply arrives.
  it.each([
    [0, 60],
    [0, 0],
    [100, 60],
    [1_000, 60],
  ])('report a Redis that refuses writes, with a waitTimeout of %i ms, %i ms away', async (waitTimeout, distance) => {
    const { proxy, service } = await bench.proxied();
    await service.run(['a', 'b'], () => undefined);
    proxy.delay({ request: distance, reply: distance });
    const { error } = await bench.redis.withoutMemory(() => timed(service.acquire(['a', 'b'], { waitTimeout })));
    expect(error).toMatchObject({ code: 'LOCK_STORE', message: expect.not.stringMatching(/all free/) });
  });

  it('end soon after the caller aborts, even if the releases of the others are not answered', async () => {
    const proxy = await bench.proxy();
    const [service, other] = [await bench.service({ connection: proxy.url }), await bench.service()];
    const events = record(service);
    const held = await other.acquire('b');
    const controller = new AbortController();
    const both = service.acquire(['a', 'b'], { waitTimeout: '1m', signal: controller.signal });
    await eventually(() => events.some(({ type }) => type === 'contended'));
    proxy.dropRequests();
    const ended = timed(both);
    controller.abort(new Error('enough'));
    const { error, ran } = await ended;
    expect(error).toMatchObject({ message: 'enough' });
    expect(ran).toBeLessThan(LATEST);
    proxy.heal();
    await held.release();
  });

  it('end on time if the scope that holds one of them has ended, and its release is not answered', async () => {
    const { proxy, service } = await bench.proxied({ commandTimeout: 1_000 });
    const other = await bench.service();
    const events = record(service);
    const held = await other.acquire('b');
    let both!: ReturnType<typeof timed>;
    await service.run('a', async () => {
      both = timed(service.acquire(['a', 'b'], { waitTimeout: 300 }));
      await eventually(() => events.some(({ type }) => type === 'contended'));
    });
    proxy.dropRequests();
    const { error, ran } = await both;
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', key: 'b' });
    expect(ran).toBeLessThan(300 + LATEST);
    proxy.heal();
    await held.release();
  });

  it('name the wait in whole milliseconds', async () => {
    const [one, other] = [await bench.service(), await bench.service()];
    await using _held = await one.acquire('b');
    const { error } = await timed(other.acquire(['a', 'b'], { waitTimeout: 1_000 }));
    expect(error).toEqual(lockError('LOCK_TIMEOUT', /waitTimeout of \d+ ms/));
  });
});
