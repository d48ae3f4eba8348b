import { setTimeout as sleep } from 'node:timers/promises';
import { LockBench } from '../../lab/testbed/locks/locks.js';

const WAITERS = 10_000;
const bench = new LockBench();

it('10 000 waiters for one key in one process need one place and one subscription, and are served in order without a warning', async () => {
  const [service, other] = await bench.serviceList(2);
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
    const lock = await other!.acquire('a');
    const served: number[] = [];
    let inside = 0;
    const waiting = Array.from({ length: WAITERS }, (_, i) =>
      service!.run(
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

it('1 000 fair waiters of one client keep their places with few commands, and are served in order', async () => {
  const FAIR = 1_000;
  const [service, other] = await bench.serviceList(2);
  const { admin } = bench.redis;
  /** How many scripts Redis has run, and when, in ms. */
  const scripts = async (): Promise<{ calls: number; at: number }> => {
    const [, calls] = /cmdstat_evalsha:calls=(\d+)/.exec(await admin.info('commandstats'))!;
    return { calls: Number(calls), at: performance.now() };
  };
  const lock = await other!.acquire('a');
  const served: number[] = [];
  const waiting = Array.from({ length: FAIR }, (_, i) =>
    service!.run('a', () => void served.push(i), { fair: true, waitTimeout: Infinity }),
  );
  await bench.untilWaiting('a', FAIR);
  const before = await scripts();
  await sleep(4_000);
  const after = await scripts();
  const perSecond = ((after.calls - before.calls) / (after.at - before.at)) * 1_000;
  // Those at the front ask. If all of them did, it would be about 290 commands.
  expect(perSecond).toBeGreaterThan(0);
  expect(perSecond).toBeLessThan(60);
  expect(await lock.release()).toBe(true);
  await Promise.all(waiting);
  expect(served).toHaveLength(FAIR);
  expect(served.every((place, i) => place === i)).toBe(true);
  await bench.untilNothingIsLeft();
});

it('a call for a free key is not sent behind the requests of thousands of waiters, after their subscription was lost', async () => {
  const KEYS = 2_000;
  const commandTimeout = '60s';
  const proxy = await bench.proxy();
  const [service, other] = await Promise.all([
    bench.service({ connection: proxy.url, commandTimeout }),
    bench.service({ commandTimeout }),
  ]);
  const keys = Array.from({ length: KEYS }, (_, i) => `many:${i}`);
  await Promise.all(keys.map((key) => other.acquire(key)));
  const waits = new AbortController();
  const waiting = keys.map((key) => service.acquire(key, { waitTimeout: Infinity, signal: waits.signal }));
  const ended = Promise.allSettled(waiting);
  await bench.untilWaiting(keys.at(-1)!, 1);
  const isRequest = ({ name, args }: { name: string; args: readonly string[] }): boolean =>
    /^eval(sha)?$/.test(name) && args.some((arg) => arg.includes('state:{many:'));
  // The next requests of all waiters have begun.
  const first = proxy.seen(isRequest);
  proxy.cutAll(({ isSubscriber }) => isSubscriber);
  await first;
  const before = proxy.commands.length;
  const free = proxy.seen(({ args }) => args.some((arg) => arg.includes('state:{free}')));
  const lock = service.acquire('free', { waitTimeout: '60s' });
  await free;
  expect(proxy.commands.slice(before).filter(isRequest).length).toBeLessThan(KEYS / 2);
  expect(await (await lock).release()).toBe(true);
  waits.abort();
  await ended;
});

it('fair waiters of one client are all served after Redis has lost its data, while no connection fails', async () => {
  // More than ask often.
  const FAIR = 40;
  const [service, other] = await bench.serviceList(2);
  const lock = await other!.acquire('a');
  const served = new Set<number>();
  let inside = 0;
  const waiting = Array.from({ length: FAIR }, (_, i) =>
    service!.run(
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
