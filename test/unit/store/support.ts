import { deferred, type Deferred } from '../../../lab/testbed/wait/deferred.js';
import type { Line, LineObserver } from '../../../lib/store/redis/line.js';
import type { Server } from '../../../lib/store/redis/servers.js';

/** A line in the hands of the test: `send` answers commands, and subscriptions have no answer until the test gives one. */
export class FakeLine implements Line {
  state: Line['state'] = 'ready';
  opened: Promise<void> = Promise.resolve();
  readonly peer = '127.0.0.1:1';
  readonly unanswered = undefined;
  /** The answers to subscriptions, by channel. */
  readonly subscriptions = new Map<string, Deferred<void>>();

  constructor(
    readonly observer: LineObserver = {},
    readonly send: Line['send'] = async () => 'role:master',
  ) {}

  run = (): never => {
    throw new Error('no script is sent on this line');
  };
  subscribe = (channel: string): Promise<void> => {
    const answer = deferred();
    this.subscriptions.set(channel, answer);
    return answer;
  };
  subscribeInSlot = this.subscribe;
  unsubscribe = (): void => undefined;
  close = (): void => void (this.state = 'ended');
}

/** One server, to which these lines lead one after the other. */
export function serverWith(...lines: Line[]) {
  const server = { address: '', at: undefined } as Server;
  return {
    lines: { silence: 1, open: () => lines.shift()! },
    of: () => server,
    known: [server],
    refresh: async () => {},
  };
}
