import { blockEventLoop, LockBench } from '../../lab/testbed/locks/locks.js';
import { LOST, startLockWorker } from '../../lab/testbed/workers/lock-process.js';

const LEASE = 500;

const bench = new LockBench({ leavesNothing: true });

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
  expect(await view).toEqual({ stopped: true, ...LOST });
  expect(await worker.release(mine)).toBe(false);
  await lock.verify();
  expect(await lock.release()).toBe(true);
  expect(await worker.escaped()).toEqual([]);
});
