import { Heartbeat, HEARTBEAT } from './heartbeat.js';
import type { Line, LineObserver } from './line.js';
import { isReplica, nodeId } from './server-identity.js';

/** The error of a server without sharded pub/sub: Redis before 7. */
const UNKNOWN = /unknown command/i;

/** How many subscriptions are sent before the event loop continues. */
const PER_TURN = 100;

/** How a channel is subscribed to: in its slot, or, if the server does not support that, not at all. */
export type Listening = 'sharded' | 'unsharded';

/** Receives events of a connection. */
export interface ShardSubscriberObserver {
  message(line: ShardSubscriber, message: string, how: Listening, channel: string): void;
  /** The slots of these channels have moved. The server has ended their subscriptions. */
  departed(line: ShardSubscriber, channels: readonly string[]): void;
  /** The connection has ended. It delivers no more messages. */
  ended(line: ShardSubscriber, error: Error | undefined): void;
}

/**
 * A connection to one master of a Cluster that subscribes to channels. If a slot moves, it reports the channels of that
 * slot. It ends with the first failure, because the channels may have to go elsewhere.
 */
export class ShardSubscriber {
  /** The id of the node in the Cluster; `undefined` if it does not tell. */
  id: string | undefined;
  private readonly line: Line;
  private readonly opened: Promise<void>;
  private readonly heartbeat: Heartbeat;
  private over = false;
  private sentInTurn = 0;
  private nextTurn: Promise<void> | undefined;

  constructor(
    /** The node, as `host:port`. */
    readonly node: string,
    open: (observer: LineObserver) => Line,
    private readonly observer: ShardSubscriberObserver,
    /** Sends a command to the node on another connection. */
    tryCommands: () => Promise<unknown>,
  ) {
    this.heartbeat = new Heartbeat(
      () => this.line.send('PING', HEARTBEAT),
      tryCommands,
      () => this.end(new Error(`the subscriber connection to ${node} has gone silent, while commands are answered`)),
    );
    this.line = open({
      connected: () => this.heartbeat.begin(),
      message: (channel, message, isSharded) =>
        observer.message(this, message, isSharded ? 'sharded' : 'unsharded', channel),
      departed: (channels) => observer.departed(this, channels),
      ended: (error) => this.end(error),
    });
    this.opened = this.open();
    this.opened.catch((error: Error) => this.end(error));
  }

  get isOver(): boolean {
    return this.over;
  }

  /** @throws if the server refuses, such as for a channel whose slot is elsewhere, or if the connection ends */
  async subscribe(channel: string): Promise<void> {
    await this.opened;
    await this.line.subscribe(channel);
  }

  /** Like `subscribe`, for a channel that is in a slot of this node. */
  async subscribeInSlot(channel: string): Promise<Listening> {
    await this.opened;
    await this.turn();
    try {
      await this.line.subscribeInSlot(channel);
      return 'sharded';
    } catch (error) {
      if (error instanceof Error && UNKNOWN.test(error.message)) return 'unsharded';
      throw error;
    }
  }

  unsubscribe(channel: string, isSharded: boolean): void {
    this.line.unsubscribe(channel, isSharded);
  }

  /** Ends the connection. */
  end(error?: Error): void {
    if (this.over) return;
    this.over = true;
    this.heartbeat.end();
    this.line.close();
    this.observer.ended(this, error);
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
    await this.line.opened;
    this.heartbeat.rest();
    if (await isReplica(this.line)) throw new Error(`${this.node} is a replica`);
    this.id = await nodeId(this.line);
  }
}
