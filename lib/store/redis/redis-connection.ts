import type { Redis, RedisOptions } from 'ioredis';
import type { LockLogger } from '../../common/logger.js';
import { LockConfigError } from '../../errors/index.js';
import { clientChannel, groupBySlot } from '../../keys/index.js';
import { ClientEvents } from './client-events.js';
import { ConnectionLog } from './connection-log.js';
import { REPLICATION_OPTIONS, retryDelay, SUBSCRIBER_OPTIONS } from './connection-options.js';
import type { Connection, ConnectionObserver, ConnectionOptions, Masters, ReplicaConfirmation } from './connection.js';
import { doubtUntilListening } from './doubt-until-listening.js';
import { Heartbeat } from './heartbeat.js';
import { KeyChannels } from './key-channels.js';
import { Mastership } from './mastership.js';
import { ReplicaAcknowledgement } from './replica-acknowledgement.js';
import { retryConfirmation } from './retried-confirmation.js';
import {
  createClient,
  databaseRefusal,
  duplicateOf,
  peerOf,
  reconnectAfterEnd,
  sentinelsOf,
  unansweredBy,
} from './redis-client.js';
import { leadsElsewhere } from './sentinel-connector.js';
import { SentinelWatch } from './sentinel-watch.js';
import { isSame, type Sentinels } from './sentinels.js';
import { isOneOfSeveral, isReplica } from './server-role.js';
import { Doubts, type Subscription } from './subscription.js';

/** How many ms after a refused subscription the client tries again. */
const SUBSCRIBE_AGAIN = 1_000;
/** For how many ms after a question to the Sentinels a doubt raises no further one. */
const SENTINELS_AGAIN = 400;

export interface RedisConnectionOptions extends ConnectionOptions {
  readonly connection: string | RedisOptions;
}

/**
 * The two connections of a client to one server: one for commands, and a subscriber to the client's channel. With
 * Sentinels, both connections ask them for the master each time they connect.
 */
export class RedisConnection implements Connection {
  readonly commands: Redis;
  readonly replicas: ReplicaConfirmation = {
    confirm: (key, id, min, timeout, script) =>
      retryConfirmation(timeout, (left) => this.acknowledgement.confirm(key, id, min, left, script)),
  };
  readonly masters: Masters | undefined;
  epoch = 0;

  /** The confirmed subscription. Cleared when its connection ends. */
  private confirmed: Subscription | undefined;
  private readonly doubts = new Doubts();
  private readonly keyChannels: KeyChannels;
  private readonly heartbeat: Heartbeat;
  /** How many times in a row the server has refused the subscription. */
  private refusals = 0;
  private downSince: number | undefined;
  /** The subscriber was connected before the connection for commands was last lost. */
  private isSubscriberOlder = false;
  private readonly subscriber: Redis;
  private readonly acknowledgement: ReplicaAcknowledgement;
  /** The Sentinels that name the master, if there are any. */
  private readonly sentinels: Sentinels | undefined;
  private readonly sentinelWatch: SentinelWatch | undefined;
  private doubted = -Infinity;
  private readonly log: ConnectionLog;
  private closed = false;
  /** Whether the server has refused a command for keys of several slots. */
  private hasSlots = false;
  private refused: ((why: LockConfigError) => void) | undefined;
  /** Whether the server was found to serve all keys. */
  private servesAll = false;
  private readonly events = new ClientEvents();
  /** The beginning of the channels of all clients. */
  private readonly channelStart: string;

  constructor(
    private readonly options: RedisConnectionOptions,
    private readonly logger: LockLogger,
    private readonly observer: ConnectionObserver,
  ) {
    const { connection, commandTimeout } = options;
    this.channelStart = clientChannel(options.keyPrefix, '');
    this.log = new ConnectionLog(logger);
    this.sentinels = sentinelsOf(connection, () => this.leaveOldMaster());
    if (this.sentinels?.options.failoverDetector) {
      this.sentinelWatch = new SentinelWatch(this.sentinels);
      this.masters = new Mastership(() => this.isStillMaster());
    }
    this.commands = createClient(connection, options, this.sentinels);
    this.subscriber = duplicateOf(this.commands, SUBSCRIBER_OPTIONS);
    this.keyChannels = new KeyChannels(this.subscriber, options.keyChannel, observer, (error) =>
      this.log.failed(error),
    );
    this.heartbeat = new Heartbeat(
      this.subscriber,
      () => this.commands.ping(),
      () => this.resubscribe(new Error('the subscriber connection has gone silent, while commands are answered')),
    );
    this.acknowledgement = new ReplicaAcknowledgement(
      () => duplicateOf(this.commands, REPLICATION_OPTIONS),
      commandTimeout,
      () => this.doubt(),
    );
    this.watchCommands();
    this.watchSubscriber();
    reconnectAfterEnd(this.commands, this.events);
    reconnectAfterEnd(this.subscriber, this.events);
  }

  get listening(): boolean {
    return this.confirmed !== undefined;
  }

  get fullySubscribed(): boolean {
    return this.listening && !this.doubts.isPending && this.keyChannels.isWhole;
  }

  get commandError(): Error | undefined {
    return this.commands.status === 'ready' ? undefined : this.log.lastError;
  }

  get subscriptionError(): Error | undefined {
    return this.listening ? undefined : (this.log.lastError ?? unansweredBy(this.subscriber));
  }

  get downFor(): number {
    return this.downSince === undefined ? 0 : performance.now() - this.downSince;
  }

  open(refused: (why: LockConfigError) => void): void {
    this.refused = refused;
    for (const client of [this.commands, this.subscriber]) {
      if (client.status === 'wait') client.connect().catch(() => undefined);
    }
    this.sentinelWatch?.follow();
    // A frozen server accepts connections and does not answer. If its machine is gone, even connecting hangs.
    if (this.sentinels !== undefined) doubtUntilListening(this, () => this.closed);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.unconfirm();
    this.heartbeat.stop();
    this.events.stop();
    this.sentinelWatch?.close();
    this.sentinels?.close();
    this.keyChannels.close();
    this.subscriber.disconnect();
    this.acknowledgement.close();
    this.commands.disconnect();
  }

  /** Only Sentinels can name another server. */
  doubt(): void {
    const { sentinels } = this;
    const now = performance.now();
    // Many calls may fail at once, and each of them raises a doubt.
    if (sentinels === undefined || this.closed || now - this.doubted < SENTINELS_AGAIN) return;
    this.doubted = now;
    sentinels.find().then(
      // The connection may be older than the Sentinels' last answer, and lead to another server.
      () => this.leaveOldMaster(),
      () => undefined,
    );
  }

  channels(): string {
    return this.channelStart;
  }

  isSubscribed(key: string, patience: number): boolean {
    return this.listening && this.keyChannels.isSubscribed(key, patience);
  }

  subscription(): Subscription | undefined {
    return this.confirmed;
  }

  /** The client's own channel is already being subscribed to. */
  async subscribeTo(key: string, patience: number, limit: number): Promise<boolean> {
    return this.listening && this.keyChannels.subscribeTo(key, patience, limit);
  }

  separateSlots(): void {
    if (this.hasSlots) return;
    this.hasSlots = true;
    this.logger.log(
      'this connection leads to one endpoint of a Redis Cluster, which refuses commands for keys of several slots ' +
        '(CROSSSLOT): from now on, leases are renewed by slot, and several keys are acquired one after the other',
    );
  }

  group<T extends { readonly key: string }>(items: readonly T[], nameOf: (key: string) => string): T[][] {
    return this.hasSlots ? groupBySlot(items, nameOf) : [[...items]];
  }

  private watchCommands(): void {
    let lost = false;
    this.events.on(this.commands, 'close', () => {
      lost = true;
      this.isSubscriberOlder = true;
      this.downSince ??= performance.now();
      this.epoch += 1;
    });
    this.events.on(this.commands, 'ready', () => {
      this.downSince = undefined;
      this.recovered();
      this.sentinelWatch?.follow();
      this.followMaster();
      if (lost) this.observer.reconnected();
      lost = false;
    });
    this.events.on(this.commands, 'end', () => (this.downSince ??= performance.now()));
    this.events.on(this.commands, 'error', (error: Error) => {
      const refusal = databaseRefusal(error);
      if (refusal !== undefined) this.refused?.(refusal);
      this.log.failed(error);
    });
  }

  private watchSubscriber(): void {
    this.events.on(this.subscriber, 'connect', () => (this.isSubscriberOlder = false));
    this.events.on(this.subscriber, 'ready', () => void this.subscribe());
    this.events.on(this.subscriber, 'close', () => {
      this.unconfirm();
      this.epoch += 1;
    });
    this.events.on(this.subscriber, 'error', (error: Error) => this.log.failed(error));
    this.events.on(this.subscriber, 'message', (channel: string, message: string) => {
      const confirmed = this.masters?.confirm(channel);
      if (confirmed === undefined) return this.received(channel, message);
      void confirmed.then((isMaster) => {
        // If the connection has ended meanwhile, the waiters ask when they are subscribed again.
        if (isMaster && this.listening) this.received(channel, message);
      });
    });
  }

  private received(channel: string, message: string): void {
    if (this.keyChannels.has(channel)) this.observer.keyMessage?.(channel, message);
    else this.observer.message(message);
  }

  /** Whether the Sentinels have announced no other master by now. */
  private async isStillMaster(): Promise<boolean> {
    const sentinels = this.sentinels!;
    const { master } = sentinels;
    await this.sentinelWatch!.catchUp();
    if (master !== undefined && !isSame(master, sentinels.master!)) return false;
    return ![this.commands, this.subscriber].some(({ stream }) => leadsElsewhere(stream, sentinels));
  }

  /**
   * The master may be another server now, named by Sentinels or behind the same address. The old one may still run: as
   * a replica, frozen or cut off. Then it has not closed the subscriber connection, which stays silent.
   */
  private followMaster(): void {
    const { sentinels } = this.commands.options;
    const isElsewhere = (client: Redis): boolean => peerOf(client) !== peerOf(this.commands);
    const { subscriber } = this;
    if (subscriber.status === 'ready' && (sentinels ? isElsewhere(subscriber) : this.isSubscriberOlder)) {
      subscriber.disconnect(true);
    }
    // Without Sentinels, a connection that was made before may lead to another server behind the address.
    this.acknowledgement.leave(sentinels ? isElsewhere : () => true);
  }

  /** Reconnects all connections that lead to another server than the master, also connections that are being made. */
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
        this.log.failed(new Error(`the subscriber connection leads to a replica: ${peerOf(subscriber)}`));
        // The address may lead to another server by then.
        later(retryDelay(++this.refusals), () => subscriber.disconnect(true));
        return;
      }
      if (!this.servesAll && (await isOneOfSeveral(subscriber, this.options.keyPrefix))) {
        this.refused?.(oneOfSeveral(peerOf(subscriber)));
      }
      this.servesAll = true;
      // Otherwise the SUBSCRIBE would go out on the next connection, which subscribes by itself.
      if (isOver()) return;
      await subscriber.subscribe(clientChannel(this.options.keyPrefix, this.options.clientId));
      if (!isOver()) await this.keyChannels.resume();
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
    this.keyChannels.interrupted();
    this.doubts.drop();
  }

  /** Replaces a subscriber connection that receives no messages although no end has closed it. */
  private resubscribe(why: Error): void {
    this.unconfirm();
    this.epoch += 1;
    this.log.failed(why);
    this.subscriber.disconnect(true);
  }

  private recovered(): void {
    if (this.commands.status === 'ready' && this.listening) this.log.recovered();
  }
}

const oneOfSeveral = (address: string): LockConfigError =>
  new LockConfigError(
    `connection leads to ${address}, which is one node of a Cluster and serves only some of the keys: ` +
      'write connection: { cluster: [{ host, port }] } with one or more of its nodes, or pass a Cluster client.',
  );
