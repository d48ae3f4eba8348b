import { outside } from '../../common/async-context.js';
import { pause, settlesWithin } from '../../common/reading-timer.js';
import type { Line } from './line.js';
import { isReplica } from './server-identity.js';
import type { Server, Servers } from './servers.js';
import { isAnswer } from './store-failure.js';

/** How many subscriptions are sent before the event loop continues. */
const PER_TURN = 100;

/**
 * How often, in ms, a heartbeat is sent on a subscriber connection, and by which part of that the interval varies at
 * random.
 */
const PERIOD = 4_000;
const JITTER = 0.2;
/** After how many ms without an answer the connection is in doubt. */
const DEADLINE = 2_000;
/** How many ms more the connection has, once a command has been answered. */
const GRACE = 500;
/** After how many ms the commands are tried again if they were not answered. */
const RETRY = 1_000;
/**
 * The argument of PING. If a slot has moved, ioredis 5 takes that message for the reply to its last command. It notices
 * the mix-up only if that command had an argument.
 */
const HEARTBEAT = 'heartbeat';

/** Receives events of a connection. */
export interface SubscriberObserver {
  message(line: Subscriber, message: string, isSharded: boolean, channel: string): void;
  /** The slots of these channels have moved. The server has ended their subscriptions. */
  departed(line: Subscriber, channels: readonly string[]): void;
  /** The connection has ended. It delivers no more messages. */
  ended(line: Subscriber, error: Error | undefined): void;
}

/**
 * A connection to one server that subscribes to channels. If a slot moves, it reports the channels of that slot. It ends
 * with the first failure, because the channels may have to go elsewhere.
 */
export class Subscriber {
  /** The name by which grants of the server name it; `undefined` if it does not tell. */
  id: string | undefined;
  private readonly line: Line;
  private readonly opened: Promise<void>;
  /** Whether the connection has ended. */
  isOver = false;
  private sentInTurn = 0;
  private nextTurn: Promise<void> | undefined;

  constructor(
    readonly server: Server,
    private readonly servers: Pick<Servers, 'lines' | 'identify'>,
    private readonly observer: SubscriberObserver,
  ) {
    // Messages arrive outside the scopes of all locks.
    this.line = outside(() =>
      servers.lines.open(
        {
          connected: () => void this.watch(),
          message: (channel, message, isSharded) => observer.message(this, message, isSharded, channel),
          departed: (channels) => observer.departed(this, channels),
          ended: (error) => this.end(error),
        },
        server.at,
      ),
    );
    this.opened = this.open();
    this.opened.catch((error: Error) => this.end(error));
  }

  /** @throws if the server refuses, such as for a channel whose slot is elsewhere, or if the connection ends */
  async subscribe(channel: string, inSlot: boolean): Promise<void> {
    await this.opened;
    await this.turn();
    await (inSlot ? this.line.subscribeInSlot(channel) : this.line.subscribe(channel));
  }

  unsubscribe(channel: string, inSlot: boolean): void {
    this.line.unsubscribe(channel, inSlot);
  }

  /** Ends the connection. */
  end(error?: Error): void {
    if (this.isOver) return;
    this.isOver = true;
    this.line.close();
    this.observer.ended(this, error);
  }

  /**
   * Ends a connection that no longer receives messages although no end has closed it: for example, because a NAT, a load
   * balancer or a sidecar has dropped it. Nothing else is sent on this connection, so TCP alone would never find out. The
   * connection counts as dead only if commands are answered in the meantime. If Redis itself is frozen, reconnecting does
   * not help.
   */
  private async watch(): Promise<void> {
    // Settles when the server has answered the commands that a client sends when it connects.
    let answer: Promise<unknown> = this.opened;
    while (await this.isAnswered(answer)) {
      await pause(PERIOD * (1 + JITTER * (2 * Math.random() - 1)));
      if (this.isOver) return;
      answer = this.line.send('PING', HEARTBEAT);
    }
    const { address } = this.server;
    const name = address === '' ? '' : ` to ${address}`;
    this.end(new Error(`the subscriber connection${name} has gone silent, while commands are answered`));
  }

  /** A refusal is an answer. Any other error comes with the end of the connection. */
  private async isAnswered(answer: Promise<unknown>): Promise<boolean> {
    const comesWithin = async (ms: number): Promise<boolean> => (await settlesWithin(ms, answer)) || this.isOver;
    if (await comesWithin(DEADLINE)) return true;
    for (;;) {
      const sent = performance.now();
      const areAnswered = await this.server.commands.send('PING').then(() => true, isAnswer);
      // If the network is slow, both connections are slow.
      if (await comesWithin(areAnswered ? Math.max(GRACE, performance.now() - sent) : RETRY)) return true;
      if (areAnswered) return false;
    }
  }

  /** Very many subscriptions that are due together do not block the event loop. */
  private async turn(): Promise<void> {
    while (this.sentInTurn === PER_TURN) await this.nextTurn;
    this.sentInTurn += 1;
    this.nextTurn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.sentInTurn = 0;
        this.nextTurn = undefined;
        resolve();
      });
    });
  }

  /** A replica would accept the subscription, but the master would not see the subscriber. */
  private async open(): Promise<void> {
    const { line } = this;
    await line.opened;
    if (await isReplica(line)) throw new Error(`the subscriber connection leads to a replica: ${line.peer}`);
    this.id = await this.servers.identify(line);
  }
}
