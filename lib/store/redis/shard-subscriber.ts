import type { Redis } from 'ioredis';
import { keepAliveLike, SUBSCRIBER_OPTIONS } from './connection-options.js';
import { Heartbeat } from './heartbeat.js';
import { isReplica } from './server-role.js';

/** The error of a server without sharded pub/sub: Redis before 7. */
const UNKNOWN = /unknown command/i;

/** The error of ioredis 5 if it takes the notice of a moved slot for a failure, or for the reply to a heartbeat. */
const MOVED = /^Command queue state error.*\b(sunsubscribe|pong)\b/s;

/** How a channel is subscribed to: in its slot, or, if the server does not support that, not at all. */
export type Listening = 'sharded' | 'unsharded';

/** Receives events of a connection. */
export interface ShardSubscriberObserver {
  message(message: string, how: Listening, channel: string): void;
  /** The connection has ended. It delivers no more messages. */
  ended(line: ShardSubscriber, error: Error | undefined): void;
}

/**
 * A connection to one master of a Cluster that subscribes to channels. It ends with the first failure and never
 * reconnects, because the channels may have to go elsewhere. ioredis has a similar option (`shardedSubscribers`), but
 * not in all supported versions, and it does not tell when a channel that moved is subscribed to again.
 */
export class ShardSubscriber {
  private readonly client: Redis;
  private readonly opened: Promise<void>;
  private readonly heartbeat: Heartbeat;
  private lastError: Error | undefined;
  private over = false;

  constructor(
    /** The node, as `host:port`. */
    readonly node: string,
    client: Redis,
    private readonly observer: ShardSubscriberObserver,
    /** Sends a command to the node on another connection. */
    tryCommands: () => Promise<unknown>,
  ) {
    this.client = client.duplicate({
      ...SUBSCRIBER_OPTIONS,
      keepAlive: keepAliveLike(client),
      // Without a prefix, since scripts publish to the full names of the channels.
      keyPrefix: '',
      readOnly: false,
      retryStrategy: null,
    });
    this.client.on('message', (channel: string, message: string) => observer.message(message, 'unsharded', channel));
    this.client.on('smessage', (channel: string, message: string) => observer.message(message, 'sharded', channel));
    // A slot has moved, and one of the channels with it. Older versions of ioredis do not expect this message.
    this.client.on('moved', () => this.end());
    this.client.on('error', (error: Error) => this.end(MOVED.test(error.message) ? undefined : error));
    this.client.on('end', () => this.end());
    this.heartbeat = new Heartbeat(this.client, tryCommands, () => {
      this.end(new Error(`the subscriber connection to ${node} has gone silent, while commands are answered`));
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
    await this.client.subscribe(channel);
  }

  /** Like `subscribe`, for a channel that is in a slot of this node. */
  async subscribeInSlot(channel: string): Promise<Listening> {
    await this.opened;
    try {
      await this.client.ssubscribe(channel);
      return 'sharded';
    } catch (error) {
      if (error instanceof Error && UNKNOWN.test(error.message)) return 'unsharded';
      throw error;
    }
  }

  unsubscribe(channel: string, isSharded: boolean): void {
    const done = isSharded ? this.client.sunsubscribe(channel) : this.client.unsubscribe(channel);
    done.catch(() => undefined);
  }

  /** Ends the connection. */
  end(error?: Error): void {
    this.lastError ??= error;
    if (this.over) return;
    this.over = true;
    this.heartbeat.stop();
    this.client.disconnect();
    this.observer.ended(this, this.lastError);
  }

  /** A replica would accept the subscription, but the master would not see the subscriber. */
  private async open(): Promise<void> {
    await this.client.connect();
    if (await isReplica(this.client)) throw new Error(`${this.node} is a replica`);
  }
}
