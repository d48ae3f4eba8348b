import { jest } from '@jest/globals';
import { goesSilent, type Watched } from '../../../lib/store/redis/heartbeat.js';

const CLIENTS = 100;
/** Heartbeats come every 4 s, plus or minus a fifth. */
const [EARLIEST, LATEST] = [3_200, 4_800];

/** A subscriber connection that answers, and notes when it was asked. */
class Listener implements Watched {
  readonly asked: number[] = [];
  isOver = false;

  async ping(): Promise<void> {
    this.asked.push(Date.now());
  }

  async tryCommands(): Promise<void> {}
}

/** The largest part of some moments that fall into one tenth of a second. */
function crowd(moments: readonly number[]): number {
  return Math.max(...moments.map((at) => moments.filter((each) => each >= at && each < at + 100).length));
}

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it('clients that connect in the same moment do not send their heartbeats in the same moment', async () => {
  let last = 0;
  // Evenly spread, so that the test gives the same result each time.
  jest.spyOn(Math, 'random').mockImplementation(() => (last = (last + 0.618_034) % 1));
  const listeners = Array.from({ length: CLIENTS }, () => new Listener());
  const silent = listeners.map((listener) => goesSilent(listener, Promise.resolve()));
  await jest.advanceTimersByTimeAsync(4 * LATEST);
  for (const listener of listeners) listener.isOver = true;
  await jest.advanceTimersByTimeAsync(LATEST);

  for (const nth of [0, 1, 2]) expect(crowd(listeners.map(({ asked }) => asked[nth]!))).toBeLessThan(CLIENTS / 5);
  const intervals = listeners.flatMap(({ asked }) => asked.map((at, i) => at - (asked[i - 1] ?? 0)));
  expect(Math.min(...intervals)).toBeGreaterThanOrEqual(EARLIEST);
  expect(Math.max(...intervals)).toBeLessThanOrEqual(LATEST + 1);
  expect(await Promise.all(silent)).not.toContain(true);
});
