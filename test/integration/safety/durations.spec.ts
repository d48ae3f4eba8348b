import type { LockService, RedisLockModuleOptions } from 'nestjs-redis-locks';
import { resolveModuleOptions } from '../../../lib/module/redis-lock.options.js';
import { expectHandoff, LockBench, timed, eventually } from '../../../lab/testbed/locks/locks.js';
import { keysWithTtl } from '../../../lab/testbed/history/leaks.mjs';
/** No length of time at all. */
const NONSENSE: unknown[] = [
  ...[-1, -0.001, NaN, -Infinity, '', ' ', '10', '-1s', '1w', '1 s s'],
  ...['s', 'e3ms', 'Infinity', '∞', null, true, {}, [1], 10n, new Date(0)],
];
const TOO_LONG = [366 * 86_400_000 + 1, Number.MAX_SAFE_INTEGER, 1e300, '8785h'];
const TOO_SHORT = [1, 10, 49, 49.999, '49ms', Number.MIN_VALUE];

const bench = new LockBench();

const show = (written: unknown): string =>
  typeof written === 'bigint' ? `${written}n` : (JSON.stringify(written) ?? String(written));

let extended = 0;

/** What no lease can be; 0 stands for a lease that is renewed. */
const LEASE = [...TOO_SHORT, Infinity];
const RENEWED = [...LEASE, 0];

/**
 * Places where a length of time is written, and the values that are refused there besides nonsense and values that are
 * too long.
 */
const places: Array<[string, unknown[], (duration: any) => Promise<unknown>]> = [
  ['acquire: expire', LEASE, async (expire) => (await start()).acquire('a', { expire })],
  ['acquire: renewedLease', RENEWED, async (renewedLease) => (await start()).acquire('a', { renewedLease })],
  ['acquire: waitTimeout', [], async (waitTimeout) => (await start()).acquire('a', { waitTimeout })],
  ['acquire: holdAtLeast', [Infinity], async (holdAtLeast) => (await start()).acquire('a', { holdAtLeast })],
  [
    'acquire: replicas.timeout',
    [Infinity],
    async (timeout) => (await start()).acquire('a', { replicas: { min: 1, timeout } }),
  ],
  ['extend', RENEWED, async (lease) => (await (await start()).acquire(`a:${++extended}`)).extend(lease)],
  ['latch: waitTimeout', [], async (waitTimeout) => (await start()).getCountDownLatch('a').await({ waitTimeout })],
  ['latch: expire', LEASE, async (expire) => (await start()).getCountDownLatch('a').trySetCount(1, { expire })],
  ['election: finishTimeout', [], async (finishTimeout) => (await start()).getLeaderElection('a', { finishTimeout })],
  ['health: timeout', [Infinity], async (timeout) => (await start()).health({ timeout })],
  ['tryLock: waitTimeout', [], async (wait) => (await start()).getLock('a').tryLock(wait)],
  ['tryLock: expire', LEASE, async (lease) => (await start()).getLock('a').tryLock(0, lease)],
  ['module: renewedLease', RENEWED, resolve('renewedLease')],
  ['module: grantTimeout', RENEWED, resolve('grantTimeout')],
  ['module: commandTimeout', [0, '0s', Infinity], resolve('commandTimeout')],
  ['module: shutdownTimeout', [Infinity], resolve('shutdownTimeout')],
  ['module: localHandoffTime', [Infinity], resolve('localHandoffTime')],
  ['module: defaults.expire', LEASE, resolve('defaults', 'expire')],
  ['module: defaults.waitTimeout', [], resolve('defaults', 'waitTimeout')],
];

function resolve(option: keyof RedisLockModuleOptions, inner?: string): (duration: unknown) => Promise<unknown> {
  return async (duration) => resolveModuleOptions({ [option]: inner === undefined ? duration : { [inner]: duration } });
}

/** Some configuration services return `null` for a value that is not configured. */
const takesNullAsNotGiven = (place: string): boolean => /^module|^election|^tryLock: waitTimeout$/.test(place);

/** `tryLock({})` has options in the place of the wait. */
const takesOptions = (place: string): boolean => place === 'tryLock: waitTimeout';
const isEmptyObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;

const start = () => bench.service();

describe.each(places)('%s', (place, refuses, write) => {
  it('refuses an invalid duration, names the option and says what to write', async () => {
    const written = [...NONSENSE, ...TOO_LONG, ...refuses].filter(
      (value) => !(takesNullAsNotGiven(place) && value === null) && !(takesOptions(place) && isEmptyObject(value)),
    );
    for (const duration of written) {
      const { error } = await timed(write(duration));
      expect([show(duration), error?.code]).toEqual([show(duration), 'LOCK_CONFIG']);
      expect(error.message).toMatch(/write|must be|at least|longest/);
    }
    expect(
      (await keysWithTtl(bench.redis.admin)).filter(({ key }) => key.startsWith('lock:state') && place !== 'extend'),
    ).toEqual([]);
  });
});

it.each([-1, 1.5, NaN, Infinity, '3', null])('maxRenewTimes %p is refused', async (maxRenewTimes) => {
  const service = await start();
  expect((await timed(service.acquire('a', { maxRenewTimes: maxRenewTimes as never }))).error).toMatchObject({
    code: 'LOCK_CONFIG',
  });
});

it('the shortest lease works: 50 ms, fixed and renewed', async () => {
  const service = await bench.service({ renewedLease: 50, grantTimeout: 50 });
  // A busy machine may need longer than that for an answer.
  const fixed = await eventually(() => service.acquire('fixed', { expire: 50 }));
  expect(fixed.remainingTime()).toBeGreaterThan(0);
  expect(fixed.remainingTime()).toBeLessThanOrEqual(47.5);
  await new Promise((done) => fixed.signal.addEventListener('abort', done));
  expect(await fixed.release()).toBe(false);
  await bench.untilNothingIsLeft();
});

it('fractions of a millisecond are accepted in a lease', async () => {
  const service = await bench.service({ renewedLease: 1000.5, grantTimeout: 500.25 });
  const { lock: handle, waiting } = await bench.contended(service, service, {
    expire: '1.0005s',
    owner: 'x',
    holdAtLeast: 0.5,
  });
  await handle.extend(700.7);
  await expectHandoff(handle, waiting);
  await bench.untilNothingIsLeft();
});

it('durations of up to 366 days work, also as a wait', async () => {
  const service = await start();
  const year = 366 * 86_400_000;
  const lock = await service.acquire('a', { expire: '366d', holdAtLeast: '30d' });
  expect((await service.inspect('a'))!.ttl).toBeGreaterThan(year - 60_000);
  // A timer of Node for so long would be over after 1 ms.
  const waiting = (await start()).acquire('a', { waitTimeout: '366d', expire: '366d' });
  const outcome = await Promise.race([waiting.then(String, String), eventuallyWaiting(service)]);
  expect(outcome).toBe('waits');
  await lock.release();
  expect((await service.inspect('a'))!.ttl).toBeGreaterThan(29 * 86_400_000);
  await service.forceRelease('a');
  const next = await waiting;
  await next.verify();
  expect(next.remainingTime()).toBeGreaterThan(0.98 * year);
  expect(await next.release()).toBe(true);
});

/** Waits for as long as a wrong timer would take several times. */
async function eventuallyWaiting(service: LockService): Promise<string> {
  await eventually(async () => (await service.inspect('a'))?.waiters.length === 1, { what: 'the waiter' });
  for (let i = 0; i < 20; i++) await service.inspect('a');
  return 'waits';
}
