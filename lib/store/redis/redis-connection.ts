import type { LockLogger } from '../../common/logger.js';
import { isLockConfigError, LockConfigError } from '../../errors/index.js';
import { clientChannel, groupBySlot } from '../../keys/index.js';
import { ConnectionHealth } from './connection-health.js';
import { retryDelay } from './connection-options.js';
import {
  ONE_SERVER,
  doubtUntilListening,
  type Connection,
  type ConnectionObserver,
  type ConnectionOptions,
  type Masters,
  type ReplicaConfirmation,
} from './connection.js';
import { Heartbeat, HEARTBEAT } from './heartbeat.js';
import { KeyChannels } from './key-channels.js';
import type { ScannedNode } from './key-scan.js';
import { LastingLine } from './lasting-line.js';
import { isSame, type Line, type Lines, type ServerAddress } from './line.js';
import { Mastership } from './mastership.js';
import { ReplicaAcknowledgement, retryConfirmation } from './replica-acknowledgement.js';
import type { SentinelWatch } from './sentinel-watch.js';
import type { MasterFinder } from './sentinels.js';
import { isOneOfSeveral, isReplica } from './server-identity.js';
import { refusesWrites } from './store-failure.js';
import { Doubts, type Subscription } from './subscription.js';

/** How many ms after a refused subscription the client tries again. */
const SUBSCRIBE_AGAIN = 1_000;
/** For how many ms after a question to the Sentinels a doubt raises no further one. */
const SENTINELS_AGAIN = 400;

export interface RedisConnectionOptions extends ConnectionOptions {
  readonly lines: Lines;
  /** What names the master, if there are Sentinels. */
  readonly sentinels?: MasterFinder | undefined;
  /** Hears from the Sentinels which server is the master. */
  readonly sentinelWatch?: SentinelWatch | undefined;
}

/**
 * The two connections of a client to one server: one for commands, and a subscriber to the client's channel. With
 * Sentinels, both connections ask them for the master each time they connect.
 */
export class RedisConnection implements Connection {
  readonly commands: LastingLine;
  readonly health: ConnectionHealth;
  readonly masters: Masters | undefined;
  readonly replicas: ReplicaConfirmation = {
    confirm: (key, id, min, timeout, script) =>
      retryConfirmation(timeout, (left) => this.acknowledgement.confirm(key, id, min, left, script)),
  };
  epoch = 0;

  /** The confirmed subscription. Cleared when its connection ends. */
  private confirmed: Subscription | undefined;
  private readonly doubts = new Doubts();
  /** If left out, keys have no channels, and messages about them arrive on the channel of the client. */
  private readonly keyChannels: KeyChannels | undefined;
  private readonly heartbeat: Heartbeat;
  /** How many times in a row the server has refused the subscription. */
  private refusals = 0;
  /** Whether the connection for commands has been lost since the last `reconnected`. */
  private lost = false;
  /** The subscriber was connected before the connection for commands was last lost. */
  private isSubscriberOlder = false;
  private readonly subscriber: LastingLine;
  private readonly acknowledgement: ReplicaAcknowledgement;
  /** The server whose replicas are asked. */
  private acknowledgedAt: ServerAddress | undefined;
  private readonly sentinels: MasterFinder | undefined;
  private readonly sentinelWatch: SentinelWatch | undefined;
  private doubted = -Infinity;
  private closed = false;
  /** Whether the server has refused a command for keys of several slots. */
  private hasSlots = false;
  private refused: ((why: LockConfigError) => void) | undefined;
  /** Whether the server was found to serve all keys. */
  private servesAll = false;
  /** The beginning of the channels of all clients. */
  private readonly channelStart: string;

  constructor(
    private readonly options: RedisConnectionOptions,
    private readonly logger: LockLogger,
    private readonly observer: ConnectionObserver,
  ) {
    const { lines, commandTimeout, sentinels } = options;
    this.channelStart = clientChannel(options.keyPrefix, '');
    this.health = new ConnectionHealth(logger, commandTimeout);
    this.sentinels = sentinels;
    if (sentinels !== undefined) sentinels.moved = () => this.leaveOldMaster();
    this.sentinelWatch = options.sentinelWatch;
    if (options.sentinelWatch !== undefined) this.masters = new Mastership(() => this.isStillMaster());
    const find = sentinels && (() => sentinels.find());
    this.commands = new LastingLine(
      lines,
      { ready: () => this.commandsReady(), ended: (error) => this.commandsEnded(error) },
      { resends: true, find, admit: sentinels && ((line) => refuseReplica(line, sentinels)) },
    );
    this.subscriber = new LastingLine(
      lines,
      {
        connected: () => {
          this.isSubscriberOlder = false;
          this.heartbeat.begin();
        },
        ready: (line) => {
          this.heartbeat.rest();
          void this.subscribe(line);
        },
        ended: (error) => this.subscriberEnded(error),
        message: (channel, message) => this.received(channel, message),
      },
      { find, isQuiet: true },
    );
    this.keyChannels =
      options.keyChannel &&
      new KeyChannels(this.subscriber, options.keyChannel, observer, (error) => this.health.failed(error));
    this.heartbeat = new Heartbeat(
      () => this.subscriber.send('PING', HEARTBEAT),
      () => this.commands.send('PING'),
      () => this.subscriber.leave(new Error('the subscriber connection has gone silent, while commands are answered')),
    );
    this.acknowledgement = new ReplicaAcknowledgement(
      () => {
        // The replicas that count are those of the server that executes the commands.
        if (!this.commands.isReady) throw new Error('Connection is closed.');
        this.acknowledgedAt = this.commands.address;
        return lines.open({}, this.acknowledgedAt);
      },
      commandTimeout,
      () => this.doubt(),
    );
  }

  get address(): string | undefined {
    return this.commands.isReady ? this.commands.line!.peer : undefined;
  }

  get listening(): boolean {
    return this.confirmed !== undefined;
  }

  get fullySubscribed(): boolean {
    return this.listening && !this.doubts.isPending && this.keyChannels?.isWhole !== false;
  }

  get subscriptionError(): Error | undefined {
    return this.listening ? undefined : (this.health.lastError ?? this.subscriber.line?.unanswered);
  }

  open(refused: (why: LockConfigError) => void): void {
    this.refused = refused;
    this.commands.open();
    this.subscriber.open();
    this.sentinelWatch?.follow();
    // A frozen server accepts connections and does not answer. If its machine is gone, even connecting hangs.
    if (this.sentinels !== undefined) doubtUntilListening(this, () => this.closed);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.unconfirm();
    this.heartbeat.end();
    this.sentinelWatch?.close();
    this.sentinels?.close();
    this.keyChannels?.close();
    this.subscriber.close();
    this.acknowledgement.close();
    this.commands.close();
    this.health.down();
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

  replyAddress(key: string): string {
    return `${this.channelStart}\n${key}`;
  }

  subscription(key: string, patience: number): Subscription | undefined {
    return this.keyChannels === undefined || this.keyChannels.isSubscribed(key, patience) ? this.confirmed : undefined;
  }

  /** The client's own channel is already being subscribed to. */
  async subscribeTo(key: string, patience: number, limit: number): Promise<boolean> {
    return this.listening && (this.keyChannels === undefined || this.keyChannels.subscribeTo(key, patience, limit));
  }

  nodes(): ScannedNode[] {
    return [{ address: '', commands: this.commands }];
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

  private commandsReady(): void {
    this.health.up();
    this.recovered();
    this.sentinelWatch?.follow();
    this.followMaster();
    if (this.lost) this.observer.reconnected();
    this.lost = false;
  }

  private commandsEnded(error: Error | undefined): void {
    this.lost = true;
    this.isSubscriberOlder = true;
    this.health.down();
    this.epoch += 1;
    // The calls that a replica refuses say so.
    if (!refusesWrites(error)) this.failed(error);
  }

  private subscriberEnded(error: Error | undefined): void {
    this.heartbeat.end();
    this.unconfirm();
    this.epoch += 1;
    this.failed(error);
  }

  private received(channel: string, message: string): void {
    const confirmed = this.masters?.confirm(channel);
    if (confirmed === undefined) return this.pass(channel, message);
    void confirmed.then((isMaster) => {
      // If the connection has ended meanwhile, the waiters ask when they are subscribed again.
      if (isMaster && this.listening) this.pass(channel, message);
    });
  }

  private pass(channel: string, message: string): void {
    if (this.keyChannels?.has(channel)) this.observer.keyMessage?.(channel, message);
    else this.observer.message(message, ONE_SERVER);
  }

  /** Whether the Sentinels have announced no other master by now. */
  private async isStillMaster(): Promise<boolean> {
    const sentinels = this.sentinels!;
    const { master } = sentinels;
    await this.sentinelWatch!.catchUp();
    if (master !== undefined && !isSame(master, sentinels.master!)) return false;
    return !this.linesElsewhere().length;
  }

  /** The connections that lead to another server than the master that the Sentinels name. */
  private linesElsewhere(): LastingLine[] {
    const master = this.sentinels?.master;
    return [this.commands, this.subscriber].filter(
      ({ address }) => master !== undefined && address !== undefined && !isSame(address, master),
    );
  }

  private failed(error: Error | undefined): void {
    if (error === undefined) return;
    if (isLockConfigError(error)) this.refused?.(error);
    this.health.failed(error);
  }

  /**
   * The master may be another server now, named by Sentinels or behind the same address. The old one may still run: as
   * a replica, frozen or cut off. Then it has not closed the subscriber connection, which stays silent.
   */
  private followMaster(): void {
    const { sentinels, subscriber } = this;
    const isElsewhere = (address: ServerAddress | undefined): boolean =>
      address !== undefined && !isSame(address, this.commands.address!);
    if (subscriber.isReady && (sentinels ? isElsewhere(subscriber.address) : this.isSubscriberOlder))
      subscriber.leave();
    // Without Sentinels, a connection that was made before may lead to another server behind the address.
    if (!sentinels || isElsewhere(this.acknowledgedAt)) this.acknowledgement.close();
  }

  /** Reconnects all connections that lead to another server than the master, also connections that are being made. */
  private leaveOldMaster(): void {
    const master = this.sentinels?.master;
    if (master === undefined || this.closed) return;
    for (const line of this.linesElsewhere()) line.leave();
    if (this.acknowledgedAt !== undefined && !isSame(this.acknowledgedAt, master)) this.acknowledgement.close();
  }

  private async subscribe(line: Line): Promise<void> {
    const { subscriber } = this;
    const isOver = (): boolean => this.closed || line.state !== 'ready';
    const later = (ms: number, action: () => unknown): void =>
      void setTimeout(() => {
        if (!isOver()) action();
      }, ms).unref();
    try {
      if (await isReplica(line)) {
        this.health.failed(new Error(`the subscriber connection leads to a replica: ${line.peer}`));
        // The address may lead to another server by then.
        later(retryDelay(++this.refusals), () => subscriber.leave());
        return;
      }
      if (!this.servesAll && (await isOneOfSeveral(line, this.options.keyPrefix))) {
        this.refused?.(oneOfSeveral(line.peer));
      }
      this.servesAll = true;
      await line.subscribe(clientChannel(this.options.keyPrefix, this.options.clientId));
      if (!isOver()) await this.keyChannels?.resume();
    } catch (error) {
      if (isOver()) return;
      this.health.failed(error as Error);
      later(SUBSCRIBE_AGAIN, () => this.subscribe(line));
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
        if (this.confirmed === subscription) this.doubts.raise(() => this.subscriber.leave(new Error(why)));
      },
    };
    this.confirmed = subscription;
  }

  private unconfirm(): void {
    this.confirmed = undefined;
    this.keyChannels?.interrupted();
    this.doubts.drop();
  }

  private recovered(): void {
    if (this.commands.isReady && this.listening) this.health.recovered();
  }
}

async function refuseReplica(line: Line, sentinels: MasterFinder): Promise<void> {
  if (!(await isReplica(line))) return;
  sentinels.mistaken?.();
  throw new Error(`the connection leads to a replica: ${line.peer}`);
}

const oneOfSeveral = (address: string): LockConfigError =>
  new LockConfigError(
    `connection leads to ${address}, which is one node of a Cluster and serves only some of the keys: ` +
      'write connection: { cluster: [{ host, port }] } with one or more of its nodes, or pass a Cluster client.',
  );
