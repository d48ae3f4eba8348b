import type { LockService, RunOptions } from 'nestjs-redis-locks';
import { LockBench } from '../../lab/testbed/locks/locks.js';

const WAITERS = 10_000;
const bench = new LockBench();

/** Calls that wait for a key, each for a section of its own, and the order in which they were served. */
function callers(service: LockService, count: number, options: RunOptions) {
  const served: number[] = [];
  let inside = 0;
  const section = async (i: number): Promise<void> => {
    expect(++inside).toBe(1);
    await Promise.resolve();
    served.push(i);
    inside -= 1;
  };
  const waiting = Array.from({ length: count }, (_, i) => service.run('a', () => section(i), options));
  return { served, waiting };
}

it('10 000 waiters for one key in one process need one place and one subscription, and are served in order without a warning', async () => {
  const [service, other] = await bench.pair();
  const warnings: Error[] = [];
  const warned = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warned);
  try {
    const { admin } = bench.redis;
    const connections = async (): Promise<number> =>
      String(await admin.client('LIST'))
        .trim()
        .split('\n').length;
    const before = await connections();
    const lock = await other.acquire('a');
    const { served, waiting } = callers(service, WAITERS, { waitTimeout: Infinity });
    await bench.untilWaiting('a', 1);
    expect(await connections()).toBe(before);
    expect(await admin.pubsub('CHANNELS', 'lock:*')).toHaveLength(2);
    expect(await lock.release()).toBe(true);
    await Promise.all(waiting);
    expect(served).toHaveLength(WAITERS);
    expect(served.every((place, i) => place === i)).toBe(true);
    expect(warnings).toEqual([]);
    await bench.untilNothingIsLeft();
  } finally {
    process.off('warning', warned);
  }
});

it('fair waiters of one client are all served after Redis has lost its data, while no connection fails', async () => {
  // More than ask often.
  const FAIR = 40;
  const [service, other] = await bench.pair();
  const lock = await other.acquire('a');
  const { served, waiting } = callers(service, FAIR, { fair: true, waitTimeout: '60s' });
  await bench.untilWaiting('a', FAIR);
  await bench.redis.admin.flushall();
  expect(await lock.release()).toBe(false);
  await Promise.all(waiting);
  expect(new Set(served).size).toBe(FAIR);
  await bench.untilNothingIsLeft();
});
