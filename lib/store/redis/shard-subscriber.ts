import type { Redis } from 'ioredis';
import { keepAliveLike, SUBSCRIBER_OPTIONS } from './connection-options.js';
import { Heartbeat } from './heartbeat.js';
import { isReplica } from './server-role.js';

/** What a server says that knows no sharded pub/sub: Redis before 7. */
const UNKNOWN = /unknown command/i;

/** What ioredis 5 says that takes the news of a slot that has moved for a mistake, or for the answer to a heartbeat. */
const MOVED = /^Command queue state error.*\b(sunsubscribe|pong)\b/s;

/** How a channel of a line is listened on: in its slot, or, where the server cannot do that, not at all. */
export type Listening = 'sharded' | 'unsharded';

/** Who hears of what happens on a line. */
export interface ShardSubscriberObserver {
  message(message: string, how: Listening): void;
  /** Nothing is heard on it any more. */
  ended(line: ShardSubscriber, error: Error | undefined): void;
}

/**
 * A connection of our own to one master of a Cluster, which listens. It ends with the first doubt, and is not made anew:
 * the next one may have to go elsewhere. ioredis could subscribe by itself (`shardedSubscribers`), but not in all the
 * versions that we support, and it does not tell when a channel that moved is heard again.
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
    /** Asks the node anything on another connection. */
    tryCommands: () => Promise<unknown>,
  ) {
    this.client = client.duplicate({
      ...SUBSCRIBER_OPTIONS,
      keepAlive: keepAliveLike(client),
      // The names of channels are what the scripts publish to.
      keyPrefix: '',
      readOnly: false,
      retryStrategy: null,
    });
    this.client.on('message', (_channel: string, message: string) => observer.message(message, 'unsharded'));
    this.client.on('smessage', (_channel: string, message: string) => observer.message(message, 'sharded'));
    // A slot has moved, and with it one of the channels. Older versions of ioredis do not expect to hear of that.
    this.client.on('moved', () => this.end());
    this.client.on('error', (error: Error) => this.end(MOVED.test(error.message) ? undefined : error));
    this.client.on('end', () => this.end());
    this.heartbeat = new Heartbeat(this.client, tryCommands, () => {
      this.end(new Error(`a connection that listens to ${node} has gone silent, while commands are answered`));
    });
    this.opened = this.open();
    this.opened.catch((error: Error) => this.end(error));
  }

  get isOver(): boolean {
    return this.over;
  }

  /** @throws when the server refuses, such as for a channel whose slot is elsewhere; or when the line ends */
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

  unsubscribeInSlot(channel: string): void {
    this.client.sunsubscribe(channel).catch(() => undefined);
  }

  /** Ends the line. */
  end(error?: Error): void {
    this.lastError ??= error;
    if (this.over) return;
    this.over = true;
    this.heartbeat.stop();
    this.client.disconnect();
    this.observer.ended(this, this.lastError);
  }

  /** A replica would let us subscribe, but the master does not see who listens there. */
  private async open(): Promise<void> {
    await this.client.connect();
    if (await isReplica(this.client)) throw new Error(`${this.node} is a replica`);
  }
}
