import { LockBench } from '../../lab/testbed/locks/locks.js';

const WAITERS = 10_000;
const bench = new LockBench();

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
    const served: number[] = [];
    let inside = 0;
    const waiting = Array.from({ length: WAITERS }, (_, i) =>
      service.run(
        'a',
        async () => {
          expect(++inside).toBe(1);
          await Promise.resolve();
          served.push(i);
          inside -= 1;
        },
        { waitTimeout: Infinity },
      ),
    );
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
  const served = new Set<number>();
  let inside = 0;
  const waiting = Array.from({ length: FAIR }, (_, i) =>
    service.run(
      'a',
      async () => {
        expect(++inside).toBe(1);
        await Promise.resolve();
        inside -= 1;
        served.add(i);
      },
      { fair: true, waitTimeout: '60s' },
    ),
  );
  await bench.untilWaiting('a', FAIR);
  await bench.redis.admin.flushall();
  expect(await lock.release()).toBe(false);
  await Promise.all(waiting);
  expect(served.size).toBe(FAIR);
  await bench.untilNothingIsLeft();
});
