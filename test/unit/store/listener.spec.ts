import { hashSlot } from '../../../lib/keys/index.js';
import type { LineObserver } from '../../../lib/store/redis/line.js';
import { Listener } from '../../../lib/store/redis/listener.js';
import type { Server, Servers } from '../../../lib/store/redis/servers.js';
import { Subscriber } from '../../../lib/store/redis/subscriber.js';
import { settled } from '../../../lab/testbed/clocks/fake-clock.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { FakeLine } from './support.js';

const CHANNEL = 'lock:client:{a}:me';

/** Two masters of a Cluster. The first one serves all slots until the test moves them. */
function stage() {
  const server = (address: string): Server & { lines: FakeLine[] } => ({
    ...{ address, at: { host: address, port: 1 }, commands: { send: async () => undefined } as never, lines: [] },
  });
  const [first, second] = [server('first'), server('second')];
  let owner = first;
  const reported: string[] = [];
  const servers = {
    isCluster: true,
    masters: undefined,
    known: [first, second],
    lines: {
      open: (observer: LineObserver, at: { host: string }) => {
        const line = new FakeLine(observer);
        (at.host === 'first' ? first : second).lines.push(line);
        return line;
      },
    },
    refresh: async () => undefined,
    of: () => owner,
    hasLeft: (slot: number | undefined, { address }: Server) => slot !== undefined && owner.address !== address,
    identify: async () => undefined,
  };
  const listener = new Listener(servers as unknown as Servers, 'lock:client:bus:me', () => true, {
    message: () => undefined,
    lost: () => void reported.push('lost'),
    restored: (names) => void reported.push(`restored ${[...(names ?? ['all'])].join()}`),
    failed: () => undefined,
  });
  /** The line to a server that was asked for the subscription, and the answer. */
  const placing = async (at: typeof first) => {
    await eventually(() => at.lines.at(-1)?.subscriptions.has(CHANNEL) === true, { what: `${at.address} is asked` });
    const line = at.lines.at(-1)!;
    return { line, answer: line.subscriptions.get(CHANNEL)! };
  };
  return { first, second, listener, reported, placing, moveSlots: () => (owner = second) };
}

describe('a channel whose slot moves', () => {
  it('while it is being subscribed to is not subscribed to by the reply of the old master', async () => {
    const { first, second, listener, placing, moveSlots } = stage();
    const heard = listener.subscribeTo(CHANNEL, 60_000, 10_000);
    const old = await placing(first);
    moveSlots();
    // The notice overtakes the reply within the client.
    old.line.observer.departed!([CHANNEL]);
    old.answer.resolve();
    const fresh = await placing(second);
    expect(listener.subscription(CHANNEL, 60_000)).toBeUndefined();
    fresh.answer.resolve();
    expect(await heard).toBe(true);
    listener.close();
  });

  it('follows the slot if the old master refuses', async () => {
    const { first, second, listener, placing, moveSlots } = stage();
    const heard = listener.subscribeTo(CHANNEL, 60_000, 10_000);
    const old = await placing(first);
    moveSlots();
    old.answer.reject(new Error(`MOVED ${hashSlot(CHANNEL)} second:1`));
    (await placing(second)).answer.resolve();
    expect(await heard).toBe(true);
    listener.close();
  });
});

it('a connection that ends takes the subscriptions under way along: they are made again, although none of them settles', async () => {
  const { first, second, listener, reported, placing, moveSlots } = stage();
  const heard = listener.subscribeTo(CHANNEL, 60_000, 10_000);
  const old = await placing(first);
  moveSlots();
  // The subscription never settles, as in ioredis 5.
  old.line.observer.ended!(new Error('read ECONNRESET'));
  expect(old.line.state).toBe('ended');
  expect(reported).toEqual(['lost']);
  (await placing(second)).answer.resolve();
  expect(await heard).toBe(true);
  await eventually(() => reported.length === 2, { what: 'the report' });
  expect(reported[1]).toBe('restored all');
  listener.close();
});

it('very many subscriptions go out in several turns of the event loop', async () => {
  const line = new FakeLine();
  const server = { address: '127.0.0.1:1', at: undefined, commands: { send: async () => undefined } };
  const lines = { silence: 60_000, open: () => line };
  const observer = { message: () => undefined, departed: () => undefined, ended: () => undefined };
  const subscriber = new Subscriber(server as unknown as Server, { lines, identify: async () => undefined }, observer);
  for (let i = 0; i < 250; i++) void subscriber.subscribe(`${i}`, true);
  const sent: number[] = [];
  while (line.subscriptions.size < 250) {
    await settled();
    sent.push(line.subscriptions.size);
  }
  expect(sent.filter((count, i) => count > (sent[i - 1] ?? 0) + 200)).toEqual([]);
  expect(sent.length).toBeGreaterThanOrEqual(2);
  subscriber.end();
});
