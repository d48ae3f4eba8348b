import type { LockLogger } from '../../common/logger.js';
import { isLockConfigError, LockStoreError } from '../../errors/index.js';
import { busChannel, clientChannel, groupBySlot } from '../../keys/index.js';
import { serversOf, type ConnectOptions } from './connect.js';
import { ConnectionHealth, downError } from './connection-health.js';
import type { ConnectionObserver, Masters } from './connection.js';
import { guardCredentials } from './credentials.js';
import type { ScannedNode } from './key-scan.js';
import type { Commands } from './line.js';
import { Listener } from './listener.js';
import { Replicas } from './replicas.js';
import { listOf, text } from './reply-readers.js';
import { namedKeys } from './script-call.js';
import { ScriptRunner } from './script-runner.js';
import type { Servers } from './servers.js';
import { lacksCommand, storeFailure } from './store-failure.js';

/**
 * The connections of a client: one to each server for commands, subscribers, which receive the messages, and those for the
 * confirmations of replicas. Nothing is sent before `start()`.
 */
export class RedisConnection {
  readonly isCluster: boolean;
  readonly scripts: ScriptRunner;
  readonly commands: Commands;
  /** Left out if no other server could tell whether a master has been replaced. */
  readonly masters?: Masters | undefined;
  readonly replicas: Replicas;
  readonly subscriptions: Listener;
  /** Whether commands reach Redis. */
  readonly health: ConnectionHealth;
  /** How many times a connection has been lost, or could not be made. */
  epoch = 0;

  private readonly servers: Servers;
  /** Whether a connection for commands has been lost since it was restored last. */
  private lost = false;
  private closed = false;
  /** Whether a command may use the keys of one slot only. */
  private hasSlots: boolean;
  /** Ends a pending `start`. */
  private settle!: (error?: Error) => void;
  private readonly opened = new Promise<void>((resolve, reject) => {
    this.settle = (error) => (error === undefined ? resolve() : reject(error));
  });

  constructor(
    private readonly options: ConnectOptions,
    private readonly logger: LockLogger,
    private readonly observer: ConnectionObserver,
  ) {
    const { keyPrefix, clientId, commandTimeout } = options;
    this.health = new ConnectionHealth(logger, commandTimeout);
    guardCredentials(this, options.connection);
    const servers = serversOf(options, {
      reached: (isMaster = false) => {
        // After a failure, this master is back, or has taken the place of another.
        this.lost ||= isMaster && this.health.lastError !== undefined;
        this.health.up();
        // At a server that answers.
        if (servers.known.some(({ commands }) => commands.isReady)) this.subscriptions.open();
        this.follow();
        this.resumed();
      },
      unreachable: (error) => {
        this.health.down();
        this.follow();
        this.interrupted(error);
      },
      ended: (error, wasReady) => this.interrupted(error, wasReady),
      replaced: (served) => observer.nodeReplaced?.(served),
      unconfirmed: () => (this.epoch += 1),
    });
    this.servers = servers;
    // No caller may wait for it.
    this.opened.catch(() => undefined);
    this.commands = servers.commands;
    this.masters = servers.masters;
    this.scripts = new ScriptRunner(this, commandTimeout);
    this.isCluster = servers.isCluster;
    this.hasSlots = servers.isCluster;
    this.replicas = new Replicas(servers, commandTimeout);
    const own = servers.isCluster ? busChannel(keyPrefix, clientId) : clientChannel(keyPrefix, clientId);
    this.subscriptions = new Listener(servers, own, options.isSharded, {
      message: (message, from, channel) => {
        if (channel === own || observer.keyMessage === undefined) observer.message(message, from);
        else observer.keyMessage(channel, message);
      },
      lost: () => (this.epoch += 1),
      restored: (channels) => {
        this.recovered();
        this.settle();
        observer.restored(channels);
      },
      failed: (error) => this.failed(error),
    });
  }

  /** The address of the server, if there is one and it is connected. */
  get address(): string | undefined {
    const { commands } = this.servers.known[0] ?? {};
    return !this.servers.isCluster && commands?.isReady ? commands.line!.peer : undefined;
  }

  /**
   * Connects. Resolves when the client is subscribed to its own channel. Failed attempts are repeated without a limit.
   * @throws LockStoreError if the connection is closed or `commandTimeout` is over: it continues to connect; and if the server
   *   lacks a command without which no lock works. LockConfigError if the server cannot serve the options
   */
  async start(): Promise<void> {
    if (this.subscriptions.listening) return;
    this.servers.open();
    // A frozen server accepts connections and does not answer. If its machine is gone, even connecting hangs.
    const what = `Redis could not be reached within ${this.options.commandTimeout} ms`;
    const late = (): LockStoreError => (this.closed ? closedEarly() : downError(what, this.startError, false));
    await this.scripts.limit.within(this.opened, late);
    // A script without keys might go to a node of a Cluster that is down, and delay the start.
    if (!this.isCluster) await this.checkCommands();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.settle(closedEarly());
    // Before the lines, so that pending calls fail with its error.
    this.scripts.close();
    this.subscriptions.close();
    this.replicas.close();
    this.servers.close();
    this.health.down();
  }

  /** Called if the server does not answer or cannot serve: checks whether another server has taken its place. */
  doubt(): void {
    if (!this.closed) void this.servers.refresh();
  }

  /** The server, or the known masters of a Cluster. */
  nodes(): readonly ScannedNode[] {
    return this.servers.known;
  }

  /** From now on, a command may use the keys of one slot only: the server has refused several (`CROSSSLOT`). */
  separateSlots(): void {
    if (this.hasSlots) return;
    this.hasSlots = true;
    this.logger.log(
      'this connection leads to one endpoint of a Redis Cluster, which refuses commands for keys of several slots ' +
        '(CROSSSLOT): from now on, leases are renewed by slot, and several keys are acquired one after the other',
    );
  }

  /** Splits a list into parts that one command each may process. `nameOf`: names the Redis key of a key. */
  group<T extends { readonly key: string }>(items: readonly T[], nameOf: (key: string) => string): T[][] {
    return this.hasSlots ? groupBySlot(items, nameOf) : [[...items]];
  }

  /** @throws LockStoreError if the server lacks a command without which no lock works */
  private async checkCommands(): Promise<void> {
    try {
      const errors = await this.scripts.run('start', namedKeys([]), this.options.required ?? [], readErrors);
      const lacking = errors.filter(([, error]) => lacksCommand(error));
      const vital = lacking.find(([name]) => !OF_MESSAGES.includes(name));
      if (vital !== undefined) throw storeFailure(vital[1], undefined, vital[0]);
      if (lacking.length > 0) this.logger.warn(noMessages(lacking.map(([name]) => name)));
    } catch (error) {
      // Other failures may be temporary, and the calls report them.
      if (lacksCommand(error)) throw error;
    }
  }

  /** Why the client is not subscribed yet. */
  private get startError(): Error | undefined {
    const silent = this.servers.known.map(({ commands }) => commands.line?.unanswered);
    return this.health.lastError ?? silent.find((error) => error !== undefined);
  }

  private follow(): void {
    this.subscriptions.follow();
    this.replicas.follow();
  }

  /**
   * A server may have executed a command before its connection broke. The command is sent again. `wasReady`: if not, an attempt to
   * connect has failed, which is no reason to ask the other masters of a Cluster again.
   */
  private interrupted(error: Error | undefined, wasReady = true): void {
    this.lost ||= wasReady;
    this.epoch += 1;
    if (error !== undefined) this.failed(error);
  }

  private resumed(): void {
    this.recovered();
    if (!this.lost || !this.servers.isKnown) return;
    this.lost = false;
    this.observer.restored();
  }

  private failed(error: Error): void {
    if (isLockConfigError(error)) this.settle(error);
    this.health.failed(error);
  }

  /** The outage is over when all servers are connected again, and all subscriptions stand. */
  private recovered(): void {
    const { known, isKnown } = this.servers;
    if (isKnown && known.every(({ commands }) => commands.isReady) && this.subscriptions.fullySubscribed)
      this.health.recovered();
  }
}

/** A client's connections to Redis: one server (with or without Sentinels), or a Cluster. Simulations bring their own. */
export type Connection = Omit<Pick<RedisConnection, keyof RedisConnection>, 'replicas' | 'subscriptions'> & {
  readonly replicas: Pick<Replicas, 'confirm'>;
  readonly subscriptions: Pick<Listener, 'listening' | 'fullySubscribed' | 'subscription' | 'subscribeTo'>;
};

const closedEarly = (): LockStoreError => new LockStoreError('the lock service was closed before it reached Redis');

/** Without these commands in scripts, waiters retry, and everything else works. */
const OF_MESSAGES = ['PUBLISH', 'PUBSUB'];

const noMessages = (names: readonly string[]): string =>
  `this server lacks ${names.join(' and ')} in scripts, so clients receive no messages: waiters retry every 3 s. ` +
  'Use Redis 6.2 or later, or Valkey, or ask the provider which commands its plan or proxy removes.';

/** Reads the names of commands, each with the error that it gives without its arguments. */
const readErrors = (raw: unknown): ReadonlyArray<readonly [name: string, error: Error]> =>
  listOf(raw, text).flatMap((name, i, all) => (i % 2 === 0 ? [[name, new Error(all[i + 1])] as const] : []));
