import { jest } from '@jest/globals';
import { LockBench, eventually } from '../../lab/testbed/locks/locks.js';

const HOUR = 3_600_000;

const bench = new LockBench({ records: true, leavesNothing: true });
const realNow = Date.now.bind(Date);

const moveWallClock = (by: number): void => {
  jest.spyOn(Date, 'now').mockImplementation(() => realNow() + by);
};

afterEach(() => void jest.restoreAllMocks());

describe.each([
  ['forward', HOUR],
  ['backward', -HOUR],
])('a client whose wall clock is moved an hour %s', (_, by) => {
  it('loses nothing: renewals and waits continue', async () => {
    const [one, other] = await bench.pair({ renewedLease: 900 });
    const [handle, fixed] = [await one.acquire('a'), await one.acquire('fixed', { expire: 20_000 })];
    const waiting = other.acquire('a');
    const asked = performance.now();
    const impatient = other.tryAcquire('fixed', { waitTimeout: 1_000 });
    await eventually(() => bench.told('contended').length === 2);
    moveWallClock(by);
    handle.assertHeld();
    expect(handle.signal.aborted).toBe(false);
    fixed.assertHeld();
    expect(fixed.remainingTime()).toBeGreaterThan(15_000);
    expect(fixed.remainingTime()).toBeLessThanOrEqual(20_000);
    expect(await impatient).toBeNull();
    expect(performance.now() - asked).toBeGreaterThanOrEqual(995);

    const renewals = bench.told('renewed').length;
    await eventually(() => bench.told('renewed').length >= renewals + 4);
    handle.assertHeld();
    await fixed.verify();
    fixed.assertHeld();

    expect(await handle.release()).toBe(true);
    const next = await waiting;
    next.assertHeld();
    expect(await next.release()).toBe(true);
    expect(await fixed.release()).toBe(true);
    // A new lock, taken by the new clock, and the clock moved back while it is held.
    const later = await one.acquire('a');
    later.assertHeld();
    jest.restoreAllMocks();
    later.assertHeld();
    expect(await later.release()).toBe(true);
    expect(bench.told('lost')).toEqual([]);
  });
});
