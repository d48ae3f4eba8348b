import { outside } from '../../common/outside.js';
import { goesSilent, HEARTBEAT, type Watched } from './heartbeat.js';
import type { Line } from './line.js';
import { isReplica } from './server-identity.js';
import type { Server, Servers } from './servers.js';

/** How many subscriptions are sent before the event loop continues. */
const PER_TURN = 100;

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
export class Subscriber implements Watched {
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

  ping(): Promise<unknown> {
    return this.line.send('PING', HEARTBEAT);
  }

  tryCommands(): Promise<unknown> {
    return this.server.commands.send('PING');
  }

  private async watch(): Promise<void> {
    if (!(await goesSilent(this, this.opened))) return;
    const { address } = this.server;
    const name = address === '' ? '' : ` to ${address}`;
    this.end(new Error(`the subscriber connection${name} has gone silent, while commands are answered`));
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
