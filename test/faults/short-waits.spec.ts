import { blockEventLoop, LockBench, timed } from '../../lab/testbed/locks/locks.js';

/** However short the wait is, Redis has so many ms to answer. */
const FIRST_ANSWER = 250;
/** Timers fire up to so many ms early. */
const ROUNDING = 2;
/** By how many ms a call may end late in this process: less than a `commandTimeout` of 5 s. */
const LATE = 1_000;
const latest = (waitTimeout: number): number => Math.max(waitTimeout, FIRST_ANSWER) + LATE;

const bench = new LockBench();

/** Calls `work` so many times, 40 of them at a time, and counts how they ended. */
async function outcomes(count: number, work: (i: number) => Promise<string>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let next = 0;
  const loop = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) {
      const start = performance.now();
      const outcome = await work(i).catch((error: { code?: string }) => {
        if (error.code !== 'LOCK_STORE') return error.code ?? 'an error without a code';
        return performance.now() - start < FIRST_ANSWER - ROUNDING ? 'given up too soon' : error.code;
      });
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: 40 }, loop));
  return counts;
}

const sum = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);

/** How often a round is repeated in which the machine was too busy for Redis to answer in time. */
const ROUNDS = 3;

/** In each round every call ends as `all` says, or has waited `FIRST_ANSWER`; in one of the rounds, fewer than a tenth have. */
async function expectMost(all: Record<string, number>, round: () => Promise<Record<string, number>>): Promise<void> {
  const lates: number[] = [];
  do {
    const { LOCK_STORE: late = 0, ...counts } = await round();
    expect(Object.keys(counts).sort()).toEqual(Object.keys(all).sort());
    expect(sum(counts) + late).toBe(sum(all));
    lates.push(late);
  } while (lates.at(-1)! >= sum(all) / 10 && lates.length < ROUNDS);
  expect(Math.min(...lates)).toBeLessThan(sum(all) / 10);
}

describe('a waitTimeout of a few milliseconds on a healthy Redis', () => {
  it.each([1, 2, 5])('of %i ms gets a free key', async (waitTimeout) => {
    const service = await bench.service();
    const acquire = async (i: number): Promise<string> => {
      const handle = await service.acquire(`free:${i}`, { waitTimeout });
      await handle.release();
      return 'held';
    };
    await expectMost({ held: 1_000 }, () => outcomes(1_000, acquire));
  });

  it.each([1, 2, 5])('of %i ms reports a held key as held', async (waitTimeout) => {
    const [one, other] = [await bench.service(), await bench.service()];
    await Promise.all(Array.from({ length: 50 }, (_, i) => one.acquire(`held:${i}`)));
    const acquire = async (i: number): Promise<string> => {
      await other.acquire(`held:${i % 50}`, { waitTimeout });
      return 'held';
    };
    await expectMost({ LOCK_TIMEOUT: 1_000 }, () => outcomes(1_000, acquire));
  });

  it.each([1, 2, 5])('of %i ms reports whether a latch is open', async (waitTimeout) => {
    const service = await bench.service();
    await service.getCountDownLatch('closed').trySetCount(1);
    const look = async (i: number): Promise<string> =>
      String(await service.getCountDownLatch(i % 2 === 0 ? 'closed' : `open:${i}`).await({ waitTimeout }));
    await expectMost({ false: 250, true: 250 }, () => outcomes(500, look));
  });

  it('reads a reply that arrived while the event loop was blocked', async () => {
    const service = await bench.service();
    const callAll = () => [
      service.acquire('one', { waitTimeout: 5 }),
      service.tryAcquire('try'),
      service.acquire(['several', 'keys'], { waitTimeout: 5 }),
    ];
    // Redis asks for the text of a script that it does not know, so the first answer would not be the last one.
    for (const handle of await Promise.all(callAll())) expect(await handle!.release()).toBe(true);
    const calls = callAll();
    // The requests go out with this turn; their replies arrive while nothing is read.
    await new Promise((resolve) => setImmediate(resolve));
    blockEventLoop(600);
    for (const handle of await Promise.all(calls)) expect(await handle!.release()).toBe(true);
  });
});

it('while Redis is frozen a call for several keys ends on time, whichever reply is missing', async () => {
  const proxy = await bench.proxy();
  const [service, other] = [await bench.service({ connection: proxy.url }), await bench.service()];
  const codes = new Set<string>();
  for (let lost = 1; lost <= 8; lost++) {
    // So that the keys are taken one by one.
    const held = await other.acquire('c', { expire: 10_000 });
    let scripts = 0;
    const stop = proxy.onCommand(({ name }) => {
      if (!/^eval/.test(name) || ++scripts !== lost) return;
      proxy.dropReplies();
    });
    const call = timed(service.acquire(['a', 'b', 'c', 'd'], { waitTimeout: 400, expire: 10_000 }));
    setTimeout(() => void held.release(), 50);
    const { value, error, ran } = await call;
    stop();
    proxy.heal();
    expect(ran).toBeLessThan(latest(400));
    // The last answer may have been that others hold a key.
    if (error?.code !== 'LOCK_TIMEOUT' && error !== undefined) {
      expect(error).toMatchObject({ code: 'LOCK_STORE', transient: true });
    }
    codes.add(error?.code ?? 'held');
    await value?.release();
    await held.release();
    await bench.untilNothingIsLeft();
  }
  expect(codes).toContain('LOCK_STORE');
});
