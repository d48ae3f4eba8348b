import { expect, it } from '@jest/globals';
import { eventually } from '../../lab/testbed/wait/eventually.mjs';
import { besideRedisson, isFull, LATE } from './sides.js';

const PARTS = isFull ? 1_000 : 100;
const CHANNEL = 'redisson_countdownlatch__channel__{parts}';

besideRedisson((sides) => {
  const on =
    (thread: string) =>
    <T = string>(command: string, ...args: Array<string | number>): Promise<T> =>
      sides.java.on(thread)<T>(`latch.${command}`, 'parts', ...args);
  const [a, b] = [on('a'), on('b')];
  const untilBothListen = (): Promise<unknown> =>
    eventually(async () => (await sides.subscribersOf(CHANNEL)) === 2, { within: LATE });

  it('a latch of either side is closed for both, and set once', async () => {
    const latch = (await sides.service()).getCountDownLatch('parts');
    expect(await a('trySetCount', 3)).toBe(true);
    expect(await latch.trySetCount(5)).toBe(false);
    expect(await latch.countDown()).toBe(2);
    expect(await a('count')).toBe('2');
    expect(await latch.await(100)).toBe(false);
    await a('countDown', 2);
    expect(await latch.await()).toBe(true);
    expect(await latch.trySetCount(1)).toBe(true);
    expect(await a('trySetCount', 5)).toBe(false);
    expect(await a('await', 100)).toBe(false);
    await latch.countDown();
    expect(await a('await', LATE)).toBe(true);
  });

  it.each(['Redisson', 'this library'])('%s opens it for waiters of both sides', async (who) => {
    const latch = (await sides.service()).getCountDownLatch('parts');
    await a('trySetCount', 2);
    const waiting = [latch.await(LATE), latch.await(), a('await', LATE)];
    await untilBothListen();
    await latch.countDown();
    if (who === 'Redisson') await b('countDown', 1);
    else await latch.countDown();
    expect(await Promise.all(waiting)).toEqual([true, true, true]);
  });

  it('the waiters of either side are woken by a message: none of them asks again', async () => {
    const latch = (await sides.service()).getCountDownLatch('parts');
    const [ours, theirs]: number[][] = [[], []];
    for (let i = 0; i < 21; i++) {
      await latch.trySetCount(1);
      // Each wait of Redisson subscribes anew. This library stays subscribed for some seconds.
      const waiting = [
        latch.await().then(() => ours!.push(performance.now())),
        a('await', LATE).then(() => theirs!.push(performance.now())),
      ];
      await untilBothListen();
      const from = performance.now();
      if (i % 2 === 0) await b('countDown', 1);
      else await latch.countDown();
      await Promise.all(waiting);
      for (const times of [ours!, theirs!]) times.push(times.pop()! - from);
      await eventually(async () => (await sides.subscribersOf(CHANNEL)) < 2, { within: LATE });
    }
    const median = (times: number[]): number => times.sort((x, y) => x - y)[10]!;
    process.stdout.write(
      `latch: medians of wake-ups: ours ${median(ours!).toFixed(1)} ms, Redisson ${median(theirs!).toFixed(1)} ms\n`,
    );
    // Without messages a waiter here would take 3 s, and one of Redisson would wait forever.
    expect(median(ours!)).toBeLessThan(isFull ? 50 : 500);
    expect(median(theirs!)).toBeLessThan(isFull ? 50 : 500);
  });

  it('no count of either side is lost when both count at once', async () => {
    const latch = (await sides.service()).getCountDownLatch('parts');
    await latch.trySetCount(4 * PARTS);
    const waiting = [latch.await(), a('await', 60_000)];
    const ours = async (): Promise<void> => {
      for (let i = 0; i < PARTS; i++) await latch.countDown();
    };
    await Promise.all([b('countDown', PARTS), on('c')('countDown', PARTS), ours()]);
    expect(await latch.getCount()).toBe(PARTS);
    await ours();
    expect(await Promise.all(waiting)).toEqual([true, true]);
    expect(await sides.redis.admin.exists('parts')).toBe(0);
  });
});
