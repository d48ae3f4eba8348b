import type { Redis } from 'ioredis';
import { clearReadingTimer, setReadingTimer, type ReadingTimer } from '../../common/reading-timer.js';
import { SUBSCRIBER_OPTIONS } from './connection-options.js';
import { Heartbeat } from './heartbeat.js';
import { duplicateOf } from './redis-client.js';
import { isReplica } from './server-role.js';

/** The error of a server without sharded pub/sub: Redis before 7. */
const UNKNOWN = /unknown command/i;

/**
 * The error of ioredis 5 if it takes the notice of a moved slot for a failure. It may have taken it for the reply to another
 * command first: then the error is about the reply to the last command that was sent.
 */
const MISTAKEN = /^Command queue state error.*\b(sunsubscribe|ssubscribe|pong|MOVED)\b/s;

/** The error of a master that does not serve the slot of a channel. */
export const isMoved = (error: unknown): boolean => error instanceof Error && /^MOVED /.test(error.message);

/** For how many ms notices of moved slots are gathered. */
const GATHER = 20;

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
 * slot. It ends with the first failure and never reconnects, because the channels may have to go elsewhere. ioredis has a
 * similar option (`shardedSubscribers`), but not in all supported versions, and it does not tell when a channel that moved
 * is subscribed to again.
 */
export class ShardSubscriber {
  private readonly client: Redis;
  private readonly opened: Promise<void>;
  private readonly heartbeat: Heartbeat;
  private lastError: Error | undefined;
  private over = false;
  /** The channels in slots whose subscription the server has confirmed. */
  private readonly channels = new Set<string>();
  private gathering: ReadingTimer | undefined;
  /** Rejects the subscriptions that are under way. */
  private readonly underWay = new Set<(error: Error) => void>();
  private sentInTurn = 0;
  private nextTurn: Promise<void> | undefined;

  constructor(
    /** The node, as `host:port`. */
    readonly node: string,
    client: Redis,
    private readonly observer: ShardSubscriberObserver,
    /** Sends a command to the node on another connection. */
    tryCommands: () => Promise<unknown>,
  ) {
    this.client = duplicateOf(client, { ...SUBSCRIBER_OPTIONS, readOnly: false, retryStrategy: null });
    this.client.on('message', (channel: string, message: string) =>
      observer.message(this, message, 'unsharded', channel),
    );
    this.client.on('smessage', (channel: string, message: string) =>
      observer.message(this, message, 'sharded', channel),
    );
    // A slot has moved, and some of the channels with it. ioredis 5 means that the server has refused a channel, and never
    // settles the command.
    this.client.on('moved', () => ('protocol' in this.client.options ? this.gather() : this.end()));
    this.client.on('error', (error: Error) => (MISTAKEN.test(error.message) ? this.gather() : this.end(error)));
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
    await this.unlessEnded(this.client.subscribe(channel));
  }

  /** Like `subscribe`, for a channel that is in a slot of this node. */
  async subscribeInSlot(channel: string): Promise<Listening> {
    await this.opened;
    await this.turn();
    try {
      await this.unlessEnded(this.client.ssubscribe(channel));
      this.channels.add(channel);
      return 'sharded';
    } catch (error) {
      if (error instanceof Error && UNKNOWN.test(error.message)) return 'unsharded';
      throw error;
    }
  }

  unsubscribe(channel: string, isSharded: boolean): void {
    this.channels.delete(channel);
    const done = isSharded ? this.client.sunsubscribe(channel) : this.client.unsubscribe(channel);
    done.catch(() => undefined);
  }

  /** Ends the connection. */
  end(error?: Error): void {
    this.lastError ??= error;
    if (this.over) return;
    this.over = true;
    clearReadingTimer(this.gathering);
    this.heartbeat.stop();
    this.client.disconnect();
    this.observer.ended(this, this.lastError);
    for (const reject of this.underWay) reject(this.lastError ?? new Error(`the connection to ${this.node} has ended`));
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

  /** Passes a reply on, or rejects when the connection ends: ioredis 5 never settles a command that was answered with MOVED. */
  private unlessEnded(reply: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.underWay.add(reject);
      const settled = (settle: () => void): void => {
        this.underWay.delete(reject);
        settle();
      };
      reply.then(
        (value) => settled(() => resolve(value)),
        (error: Error) => settled(() => reject(error)),
      );
    });
  }

  private gather(): void {
    this.gathering ??= setReadingTimer(GATHER, () => this.findDeparted());
  }

  /** ioredis does not report which channels have moved. It only removes them from its own list. */
  private findDeparted(): void {
    this.gathering = undefined;
    const subscriber = this.client.condition?.subscriber;
    const left = new Set(subscriber ? subscriber.channels('ssubscribe') : []);
    const departed = [...this.channels].filter((channel) => !left.has(channel));
    for (const channel of departed) this.channels.delete(channel);
    if (departed.length > 0) this.observer.departed(this, departed);
  }

  /** A replica would accept the subscription, but the master would not see the subscriber. */
  private async open(): Promise<void> {
    await this.client.connect();
    if (await isReplica(this.client)) throw new Error(`${this.node} is a replica`);
  }
}
