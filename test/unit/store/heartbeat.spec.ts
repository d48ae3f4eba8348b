import { jest } from '@jest/globals';
import type { Line, LineObserver } from '../../../lib/store/redis/line.js';
import type { Server } from '../../../lib/store/redis/servers.js';
import { Subscriber } from '../../../lib/store/redis/subscriber.js';

const CLIENTS = 100;
/** Heartbeats come every 4 s, plus or minus a fifth. */
const [EARLIEST, LATEST] = [3_200, 4_800];

/** A subscriber connection that answers, and notes when it was asked and why it has ended. */
class Client {
  readonly asked: number[] = [];
  readonly subscriber: Subscriber;
  end: Error | undefined;

  constructor() {
    const send = async (command: string): Promise<string> => {
      if (command === 'PING') this.asked.push(Date.now());
      return 'role:master';
    };
    let connected: LineObserver['connected'];
    const line = { opened: Promise.resolve(), send, close: () => undefined } as unknown as Line;
    const lines = {
      silence: 60_000,
      open: (events: LineObserver) => {
        ({ connected } = events);
        return line;
      },
    };
    const server = { address: '', at: undefined, commands: { send } } as unknown as Server;
    const servers = { lines, identify: async () => undefined };
    this.subscriber = new Subscriber(server, servers, {
      message: () => undefined,
      departed: () => undefined,
      ended: (_line, error) => (this.end = error),
    });
    connected!();
  }
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
  const clients = Array.from({ length: CLIENTS }, () => new Client());
  await jest.advanceTimersByTimeAsync(4 * LATEST);
  for (const { subscriber } of clients) subscriber.end();
  await jest.advanceTimersByTimeAsync(LATEST);

  for (const nth of [0, 1, 2]) expect(crowd(clients.map(({ asked }) => asked[nth]!))).toBeLessThan(CLIENTS / 5);
  const intervals = clients.flatMap(({ asked }) => asked.map((at, i) => at - (asked[i - 1] ?? 0)));
  expect(Math.min(...intervals)).toBeGreaterThanOrEqual(EARLIEST);
  expect(Math.max(...intervals)).toBeLessThanOrEqual(LATEST + 1);
  expect(clients.filter(({ end }) => end !== undefined)).toEqual([]);
});
