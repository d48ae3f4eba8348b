import { hashSlot } from '../../../lib/keys/index.js';
import type { Line, LineObserver } from '../../../lib/store/redis/line.js';
import { Listener } from '../../../lib/store/redis/listener.js';
import type { Server, Servers } from '../../../lib/store/redis/servers.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';

const CHANNEL = 'lock:client:{a}:me';

/** A line whose subscriptions are answered when the test says so. Those under way never settle when it ends, as in ioredis 5. */
class StagedLine implements Line {
  readonly state = 'ready';
  readonly opened = Promise.resolve();
  readonly peer = '127.0.0.1:1';
  readonly unanswered = undefined;
  /** The subscriptions that are not answered yet, by channel. */
  readonly pending = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  isClosed = false;

  constructor(readonly observer: LineObserver) {}

  send = async (): Promise<unknown> => 'role:master';
  run = (): void => undefined;
  subscribe = (channel: string): Promise<void> =>
    new Promise((resolve, reject) => this.pending.set(channel, { resolve, reject }));
  subscribeInSlot = this.subscribe;
  unsubscribe = (): void => undefined;
  close = (): void => void (this.isClosed = true);
}

/** Two masters of a Cluster. The first one serves all slots until the test moves them. */
function stage() {
  const server = (address: string): Server & { lines: StagedLine[] } => ({
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
        const line = new StagedLine(observer);
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
  const placing = async (at: typeof first): Promise<StagedLine> => {
    await eventually(() => at.lines.at(-1)?.pending.has(CHANNEL) === true, { what: `${at.address} is asked` });
    return at.lines.at(-1)!;
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
    old.observer.departed!([CHANNEL]);
    old.pending.get(CHANNEL)!.resolve();
    const fresh = await placing(second);
    expect(listener.subscription(CHANNEL, 60_000)).toBeUndefined();
    fresh.pending.get(CHANNEL)!.resolve();
    expect(await heard).toBe(true);
    listener.close();
  });

  it('follows the slot if the old master refuses', async () => {
    const { first, second, listener, placing, moveSlots } = stage();
    const heard = listener.subscribeTo(CHANNEL, 60_000, 10_000);
    const old = await placing(first);
    moveSlots();
    old.pending.get(CHANNEL)!.reject(new Error(`MOVED ${hashSlot(CHANNEL)} second:1`));
    (await placing(second)).pending.get(CHANNEL)!.resolve();
    expect(await heard).toBe(true);
    listener.close();
  });
});

it('a connection that ends takes the subscriptions under way along: they are made again, although none of them settles', async () => {
  const { first, second, listener, reported, placing, moveSlots } = stage();
  const heard = listener.subscribeTo(CHANNEL, 60_000, 10_000);
  const old = await placing(first);
  moveSlots();
  old.observer.ended!(new Error('read ECONNRESET'));
  expect(old.isClosed).toBe(true);
  expect(reported).toEqual(['lost']);
  (await placing(second)).pending.get(CHANNEL)!.resolve();
  expect(await heard).toBe(true);
  await eventually(() => reported.length === 2, { what: 'the report' });
  expect(reported[1]).toBe('restored all');
  listener.close();
});
