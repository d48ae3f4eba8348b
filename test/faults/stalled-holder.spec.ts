import { blockEventLoop, nothingLeftBehind } from '../../lab/testbed/locks/fault-locks.js';
import { LockBench, record } from '../../lab/testbed/locks/locks.js';
import { LOST as LOST_THERE, startLockWorker } from '../../lab/testbed/workers/lock-process.js';

const LEASE = 500;
const LOST = expect.objectContaining({ code: 'LOCK_LOST', key: 'a' });

const bench = new LockBench();

describe.each([
  ['watched by the watchdog', {}],
  ['of a fixed lease', { expire: LEASE }],
])('a lock %s, after the event loop was blocked for longer than its lease', (_, options) => {
  it('is not held on the first line afterwards', async () => {
    const service = await bench.service({ renewedLease: LEASE });
    const events = record(service);
    const heard: unknown[] = [];
    const handle = await service.acquire('a', { ...options, onLost: (error) => heard.push(error) });
    expect(handle.isHeld).toBe(true);
    blockEventLoop(LEASE);
    expect(handle.isHeld).toBe(false);
    expect(() => handle.assertHeld()).toThrow(LOST);
    expect(handle.signal.aborted).toBe(true);
    expect(handle.signal.reason).toEqual(LOST);
    expect(handle.remainingTime()).toBe(0);
    expect(handle.holdCount).toBe(0);
    expect(heard).toEqual([LOST]);
    await expect(handle.verify()).rejects.toEqual(LOST);
    await expect(handle.extend(1_000)).rejects.toEqual(LOST);
    expect(await handle.release()).toBe(false);
    expect(events.filter(({ type }) => type === 'lost')).toHaveLength(1);
    await nothingLeftBehind(bench.redis);
  });
});

it('a holder that was stopped beyond its lease knows on its first line, and its late release has no effect', async () => {
  const options = { connection: bench.redis.url, renewedLease: LEASE };
  await using worker = await startLockWorker(options, { catchesErrors: true });
  const service = await bench.service();
  const mine = await worker.acquire('a');
  const view = worker.process.call('lookAfterStop', mine.number, LEASE, 10_000);
  await worker.process.next(({ event }) => event === 'spinning');
  worker.process.pause();
  const lock = await service.acquire('a', { waitTimeout: 5_000 });
  // However late it was stopped, it was stopped for longer than the 100 ms that it looks for.
  blockEventLoop(250);
  worker.process.resume();
  expect(await view).toEqual({ stopped: true, ...LOST_THERE });
  expect(await worker.release(mine)).toBe(false);
  await lock.verify();
  expect(await lock.release()).toBe(true);
  expect(await worker.escaped()).toEqual([]);
  await nothingLeftBehind(bench.redis);
});
