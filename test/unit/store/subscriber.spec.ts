import type { Line, LineObserver } from '../../../lib/store/redis/line.js';
import type { Server } from '../../../lib/store/redis/servers.js';
import { Subscriber } from '../../../lib/store/redis/subscriber.js';

/** A line whose server never answers a subscription. */
class Unanswered implements Line {
  readonly state = 'ready';
  readonly opened = Promise.resolve();
  readonly peer = '127.0.0.1:1';
  readonly unanswered = undefined;
  sent = 0;

  constructor(readonly observer: LineObserver) {}

  send = async (): Promise<unknown> => 'role:master';
  run = (): void => undefined;
  subscribe = (): Promise<void> => new Promise(() => undefined);
  subscribeInSlot = (): Promise<void> => {
    this.sent += 1;
    return this.subscribe();
  };
  unsubscribe = (): void => undefined;
  close = (): void => undefined;
}

function open(): { line: Subscriber; client: Unanswered } {
  let client!: Unanswered;
  const observer = { message: () => undefined, departed: () => undefined, ended: () => undefined };
  const server = { address: '127.0.0.1:1', at: undefined, commands: { send: async () => undefined } };
  const lines = { silence: 60_000, open: (events: LineObserver) => (client = new Unanswered(events)) };
  const line = new Subscriber(server as unknown as Server, { lines, identify: async () => undefined }, observer);
  return { line, client };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('very many subscriptions go out in several turns of the event loop', async () => {
  const { line, client } = open();
  for (let i = 0; i < 250; i++) void line.subscribe(`${i}`, true);
  const sent: number[] = [];
  while (client.sent < 250) {
    await turn();
    sent.push(client.sent);
  }
  expect(sent.filter((count, i) => count > (sent[i - 1] ?? 0) + 200)).toEqual([]);
  expect(sent.length).toBeGreaterThanOrEqual(2);
  line.end();
});
