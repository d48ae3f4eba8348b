import { Redis, type RedisOptions } from 'ioredis';
import type { LockLogger } from '../../common/logger.js';
import { clientChannel } from '../../keys/index.js';
import { ConnectionLog } from './connection-log.js';
import {
  DOUBT_AGAIN,
  keepAliveLike,
  OWN_OPTIONS,
  REPLICATION_OPTIONS,
  retryDelay,
  SENTINEL_OPTIONS,
  silenceLimit,
  SUBSCRIBER_OPTIONS,
} from './connection-options.js';
import type { Connection, ConnectionObserver, ReplicaConfirmation } from './connection.js';
import { hushSentinels } from './failover-detector.js';
import { Heartbeat } from './heartbeat.js';
import { ReplicaAcknowledgement } from './replica-acknowledgement.js';
import { retryConfirmation } from './retried-confirmation.js';
import { connectorTo, leadsElsewhere } from './sentinel-connector.js';
import { SentinelWatch } from './sentinel-watch.js';
import { Sentinels } from './sentinels.js';
import { isReplica } from './server-role.js';
import { Doubts, type Subscription } from './subscription.js';

/** How many ms after a refused subscription the next one is tried. */
const SUBSCRIBE_AGAIN = 1_000;

export interface RedisConnectionOptions {
  readonly connection: string | RedisOptions | Redis;
  readonly keyPrefix: string;
  readonly clientId: string;
  /** ms */
  readonly commandTimeout: number;
}

/**
 * The two connections of a client to one server: one for commands and one that listens on the client's channel. A client
 * that the user brought is used for commands and never closed; all others are ours. Where Sentinels say which server it
 * is, both ask them each time they connect.
 */
export class RedisConnection implements Connection {
  readonly commands: Redis;
  readonly replicas: ReplicaConfirmation = {
    confirm: (key, id, min, timeout, script) =>
      retryConfirmation(timeout, (left) => this.acknowledgement.confirm(key, id, min, left, script)),
  };
  epoch = 0;

  /** The one that is confirmed, for as long as its connection stands. */
  private confirmed: Subscription | undefined;
  private readonly doubts = new Doubts();
  private readonly heartbeat: Heartbeat;
  /** How often in turn a subscription could not be made. */
  private refusals = 0;
  private downSince: number | undefined;
  /** The subscriber was connected before the connection for commands was last lost. */
  private isSubscriberOlder = false;
  private readonly subscriber: Redis;
  private readonly acknowledgement: ReplicaAcknowledgement;
  private readonly ownsCommands: boolean;
  /** Those that say which server is the master, where there are any and the client is ours. */
  private readonly sentinels: Sentinels | undefined;
  private readonly sentinelWatch: SentinelWatch | undefined;
  private doubted = -Infinity;
  private readonly log: ConnectionLog;
  private closed = false;
  private readonly watch: Array<() => void> = [];

  constructor(
    private readonly options: RedisConnectionOptions,
    logger: LockLogger,
    private readonly observer: ConnectionObserver,
  ) {
    const { connection, commandTimeout } = options;
    this.log = new ConnectionLog(logger);
    this.ownsCommands = !isClient(connection);
    this.sentinels = isClient(connection) ? undefined : this.sentinelsOf(connection);
    if (this.sentinels?.options.failoverDetector) this.sentinelWatch = new SentinelWatch(this.sentinels);
    this.commands = isClient(connection) ? connection : connect(connection, commandTimeout, this.sentinels);
    const keepAlive = keepAliveLike(this.commands);
    this.subscriber = this.commands.duplicate({ ...SUBSCRIBER_OPTIONS, keepAlive });
    this.heartbeat = new Heartbeat(
      this.subscriber,
      () => this.commands.ping(),
      () => this.resubscribe(new Error('the connection that listens has gone silent, while commands are answered')),
    );
    this.acknowledgement = new ReplicaAcknowledgement(
      () => this.commands.duplicate({ ...REPLICATION_OPTIONS, keepAlive }),
      commandTimeout,
      () => this.doubt(),
    );
    this.watchCommands();
    this.watchSubscriber();
    if (this.ownsCommands) this.beginAgain(this.commands);
    this.beginAgain(this.subscriber);
  }

  get listening(): boolean {
    return this.confirmed !== undefined;
  }

  get hearsAll(): boolean {
    return this.listening && !this.doubts.isPending;
  }

  get trouble(): Error | undefined {
    return this.commands.status === 'ready' ? undefined : this.log.lastError;
  }

  get deafness(): Error | undefined {
    return this.listening ? undefined : this.log.lastError;
  }

  get downFor(): number {
    return this.downSince === undefined ? 0 : performance.now() - this.downSince;
  }

  open(): void {
    for (const client of [this.commands, this.subscriber]) {
      if (client.status === 'wait') client.connect().catch(() => undefined);
    }
    this.sentinelWatch?.follow();
    if (this.sentinels !== undefined) this.doubtUntilListening();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.unconfirm();
    this.heartbeat.stop();
    for (const stop of this.watch) stop();
    this.sentinelWatch?.close();
    this.sentinels?.close();
    this.subscriber.disconnect();
    this.acknowledgement.close();
    if (this.ownsCommands) this.commands.disconnect();
  }

  /** Only Sentinels can say that another server is to be asked. */
  doubt(): void {
    const { sentinels } = this;
    const now = performance.now();
    // Each call may be refused, and each of them says so.
    if (sentinels === undefined || this.closed || now - this.doubted < DOUBT_AGAIN / 2) return;
    this.doubted = now;
    sentinels.find().then(
      // It may have been another one all along: a connection may be older than what was told.
      () => this.leaveOldMaster(),
      () => undefined,
    );
  }

  channels(): string {
    return clientChannel(this.options.keyPrefix, '');
  }

  hears(): boolean {
    return this.listening;
  }

  subscription(): Subscription | undefined {
    return this.confirmed;
  }

  /** There is one subscription only, which is on its way. */
  async hear(): Promise<boolean> {
    return this.listening;
  }

  group<T>(items: readonly T[]): T[][] {
    return [[...items]];
  }

  private watchCommands(): void {
    let lost = false;
    this.on(this.commands, 'close', () => {
      lost = true;
      this.isSubscriberOlder = true;
      this.downSince ??= performance.now();
      this.epoch += 1;
    });
    // They are asked to tell from then on.
    this.on(this.commands, 'connect', () => hushSentinels(this.commands));
    this.on(this.commands, 'ready', () => {
      this.downSince = undefined;
      this.recovered();
      this.sentinelWatch?.follow();
      this.followMaster();
      if (lost) this.observer.reconnected();
      lost = false;
    });
    this.on(this.commands, 'end', () => (this.downSince ??= performance.now()));
    if (this.ownsCommands) this.on(this.commands, 'error', (error: Error) => this.log.failed(error));
  }

  private watchSubscriber(): void {
    this.on(this.subscriber, 'connect', () => (this.isSubscriberOlder = false));
    this.on(this.subscriber, 'ready', () => void this.subscribe());
    this.on(this.subscriber, 'close', () => {
      this.unconfirm();
      this.epoch += 1;
    });
    this.on(this.subscriber, 'error', (error: Error) => this.log.failed(error));
    this.on(this.subscriber, 'message', (_channel: string, message: string) => this.observer.message(message));
  }

  /**
   * There may be another master now, by the word of Sentinels or behind the same address. The old one may be alive still, as
   * a replica, frozen or cut off, and not have closed the connection on which nothing is to be heard any more.
   */
  private followMaster(): void {
    const { sentinels } = this.commands.options;
    const isElsewhere = (client: Redis): boolean => peerOf(client) !== peerOf(this.commands);
    const { subscriber } = this;
    if (subscriber.status === 'ready' && (sentinels ? isElsewhere(subscriber) : this.isSubscriberOlder)) {
      subscriber.disconnect(true);
    }
    // Whatever it is connected to behind an address, it was before.
    this.acknowledgement.leave(sentinels ? isElsewhere : () => true);
  }

  /** The options of a client behind Sentinels, with ours. ioredis itself says what is missing in them. */
  private sentinelsOf(connection: string | RedisOptions): Sentinels | undefined {
    if (typeof connection === 'string' || connection.Connector !== undefined) return undefined;
    const { sentinels, name, role = 'master' } = connection;
    if (!sentinels?.length || !name || role !== 'master') return undefined;
    return new Sentinels({ ...SENTINEL_OPTIONS, ...connection }, () => this.leaveOldMaster());
  }

  /** Whatever leads to another server than the master is connected anew, also what is about to connect there. */
  private leaveOldMaster(): void {
    const { sentinels } = this;
    if (sentinels === undefined || this.closed) return;
    for (const client of [this.commands, this.subscriber]) {
      if (!leadsElsewhere(client.stream, sentinels)) continue;
      if (client.status === 'connecting') client.stream.destroy();
      else if (client.status === 'connect' || client.status === 'ready') client.disconnect(true);
    }
    this.acknowledgement.leave(({ stream }) => leadsElsewhere(stream, sentinels));
  }

  /** A server that is frozen takes connections and does not answer; one whose machine is gone does not even take them. */
  private doubtUntilListening(): void {
    setTimeout(() => {
      if (this.closed || this.listening) return;
      this.doubt();
      this.doubtUntilListening();
    }, DOUBT_AGAIN).unref();
  }

  /**
   * ioredis gives up for good when a failover is told (`failoverDetector`) in the moment in which it asks the Sentinels for the
   * master, as after the death of the old one.
   */
  private beginAgain(client: Redis): void {
    this.on(client, 'end', () => {
      if (this.closed || !client.options.sentinels) return;
      setTimeout(() => {
        if (!this.closed && client.status === 'end') client.connect().catch(() => undefined);
      }, retryDelay(1)).unref();
    });
  }

  private async subscribe(): Promise<void> {
    const { subscriber } = this;
    const { stream } = subscriber;
    const isOver = (): boolean => this.closed || subscriber.stream !== stream || subscriber.status !== 'ready';
    const later = (ms: number, action: () => unknown): void =>
      void setTimeout(() => {
        if (!isOver()) action();
      }, ms).unref();
    try {
      if (await isReplica(subscriber)) {
        this.log.failed(new Error(`the connection that listens leads to a replica: ${peerOf(subscriber)}`));
        // What is behind the address may be another server by then.
        later(retryDelay(++this.refusals), () => subscriber.disconnect(true));
        return;
      }
      // Or else it would be sent on the next connection, which subscribes by itself.
      if (isOver()) return;
      await subscriber.subscribe(clientChannel(this.options.keyPrefix, this.options.clientId));
    } catch (error) {
      if (isOver()) return;
      this.log.failed(error as Error);
      later(SUBSCRIBE_AGAIN, () => this.subscribe());
      return;
    }
    if (isOver()) return;
    this.refusals = 0;
    this.confirm();
    this.recovered();
    this.observer.subscribed();
  }

  private confirm(): void {
    const subscription: Subscription = {
      since: performance.now(),
      doubt: (why) => {
        if (this.confirmed === subscription) this.doubts.raise(() => this.resubscribe(new Error(why)));
      },
    };
    this.confirmed = subscription;
  }

  private unconfirm(): void {
    this.confirmed = undefined;
    this.doubts.drop();
  }

  /** Leaves a connection on which nothing is heard, though nobody has closed it. */
  private resubscribe(why: Error): void {
    this.unconfirm();
    this.epoch += 1;
    this.log.failed(why);
    this.subscriber.disconnect(true);
  }

  private recovered(): void {
    if (this.commands.status === 'ready' && this.listening) this.log.recovered();
  }

  private on(client: Redis, event: string, listener: (...args: any[]) => void): void {
    client.on(event, listener);
    this.watch.push(() => {
      client.off(event, listener);
      // A socket that fails while it is being closed is nobody's concern.
      if (event === 'error') client.on('error', () => undefined);
    });
  }
}

const isClient = (connection: string | RedisOptions | Redis): connection is Redis =>
  typeof connection === 'object' && 'duplicate' in connection && typeof connection.duplicate === 'function';

const peerOf = ({ stream }: Redis): string => `${stream.remoteAddress}:${stream.remotePort}`;

function connect(connection: string | RedisOptions, commandTimeout: number, sentinels: Sentinels | undefined): Redis {
  const options: RedisOptions = {
    ...OWN_OPTIONS,
    socketTimeout: silenceLimit(commandTimeout),
    ...(sentinels && { Connector: connectorTo(sentinels) }),
  };
  return typeof connection === 'string'
    ? new Redis(connection, { ...options, lazyConnect: true })
    : new Redis({ ...options, ...(connection.sentinels && SENTINEL_OPTIONS), ...connection, lazyConnect: true });
}
