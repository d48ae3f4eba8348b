import type { LockLogger } from '../../common/logger.js';
import { readingClock } from '../../common/reading-timer.js';
import type { LockStoreError } from '../../errors/index.js';
import type { AcquireRequest, LockStoreListener } from '../lock-store.js';
import { lacksCommand, storeFailure } from './store-failure.js';
import { isClusterTarget, serversOf, type ConnectionTarget, type ConnectOptions } from './connect.js';
import type { ConnectionObserver } from './connection.js';
import { RedisConnection, type Connection } from './redis-connection.js';
import { downError } from './connection-health.js';
import { guardCredentials } from './credentials.js';
import { listOf, text } from './reply-readers.js';
import { namedKeys } from './script-call.js';
import { ScriptRunner } from './script-runner.js';
import { within } from './time-limit.js';

/** A store's way to Redis: its connections, and the scripts that it runs there. Nothing is sent before `start()`. */
export class StoreLink {
  readonly connection: Connection;
  readonly scripts: ScriptRunner;
  private readonly commandTimeout: number;
  private readonly isCluster: boolean;

  /**
   * @param commands the commands that `start` looks for, if they are not those of the scripts of this library's own protocol
   */
  constructor(
    options: ConnectOptions,
    private readonly logger: LockLogger,
    observer: ConnectionObserver,
    private readonly commands: readonly string[] = [],
  ) {
    this.commandTimeout = options.commandTimeout;
    this.isCluster = isClusterTarget(options.connection);
    guardCredentials(this, options.connection);
    this.connection = new RedisConnection(options, serversOf(options), logger, observer);
    this.scripts = new ScriptRunner(this.connection, options.commandTimeout);
  }

  /**
   * @throws LockStoreError if the link is closed or `commandTimeout` is over: it continues to connect; and if the server lacks
   *   a command without which no lock works. LockConfigError if the server cannot serve the options
   */
  async start(): Promise<void> {
    if (this.connection.listening) return;
    const late = (): LockStoreError =>
      downError(
        `Redis could not be reached within ${this.commandTimeout} ms`,
        this.connection.subscriptionError,
        false,
      );
    await within(this.commandTimeout, this.connection.open(), late, readingClock, true);
    // A script without keys might go to a node of a Cluster that is down, and delay the start.
    if (this.isCluster) return;
    try {
      const errors = await this.scripts.run('start', namedKeys([]), this.commands, readErrors);
      const lacking = errors.filter(([, error]) => lacksCommand(error));
      const vital = lacking.find(([name]) => !OF_MESSAGES.includes(name));
      if (vital !== undefined) throw storeFailure(vital[1], undefined, vital[0]);
      if (lacking.length > 0) this.logger.warn(noMessages(lacking.map(([name]) => name)));
    } catch (error) {
      // Other failures may be temporary, and the calls report them.
      if (lacksCommand(error)) throw error;
    }
  }

  close(): void {
    this.connection.close();
    this.scripts.close();
  }
}

/** The reply to a waiter may be delayed by this many ms, until the client can receive its grant. */
export const LONGEST_HEARING = 250;

/** As `StoreLink`. Simulations bring their own. */
export type Link = Pick<StoreLink, keyof StoreLink>;

/** What the stores on the connections to a Redis have in common, whatever their protocol is. */
export abstract class LinkedStore implements ConnectionObserver {
  readonly isPartitioned: boolean;
  protected listener: LockStoreListener | undefined;
  // Private, also towards the engine, because it knows the password: printing a lock must not reveal it.
  readonly #link: Link;

  constructor(target: ConnectionTarget, link: (observer: ConnectionObserver) => Link) {
    this.isPartitioned = isClusterTarget(target);
    this.#link = link(this);
  }

  abstract message(text: string, from: string | undefined): void;
  /** The Redis key, or the hash tag, of a lock. */
  protected abstract nameOf(key: string): string;

  get listening(): boolean {
    return this.connection.listening;
  }

  get fullySubscribed(): boolean {
    return this.connection.fullySubscribed;
  }

  get epoch(): number {
    return this.connection.epoch;
  }

  get unreachable(): LockStoreError | undefined {
    return this.connection.health.unreachable;
  }

  get outage(): LockStoreError | undefined {
    return this.connection.health.outage;
  }

  listen(listener: LockStoreListener): void {
    this.listener = listener;
  }

  /** @throws LockStoreError if the store is closed or `commandTimeout` is over; it continues to connect */
  start(): Promise<void> {
    return this.#link.start();
  }

  async close(): Promise<void> {
    this.#link.close();
  }

  subscribed(concerns?: (key: string) => boolean): void {
    this.listener?.restored(concerns);
  }

  reconnected(): void {
    this.listener?.restored();
  }

  nodeLost(served: (name: string) => boolean): void {
    this.listener?.doubted?.((key) => served(this.nameOf(key)));
  }

  /**
   * Subscribes to the channel of a key, or of that name. The reply to a waiter is delayed so long, and a lease counts from the
   * request, so this may take only a part of it.
   */
  protected subscribe(name: string, { patience, lease }: Pick<AcquireRequest, 'patience' | 'lease'>): Promise<boolean> {
    return this.connection.subscribeTo(name, patience, Math.min(LONGEST_HEARING, lease / 4));
  }

  protected get connection(): Connection {
    return this.#link.connection;
  }

  protected get runner(): ScriptRunner {
    return this.#link.scripts;
  }
}

/** Without these commands in scripts, waiters retry, and everything else works. */
const OF_MESSAGES = ['PUBLISH', 'PUBSUB'];

const noMessages = (names: readonly string[]): string =>
  `this server lacks ${names.join(' and ')} in scripts, so clients receive no messages: waiters retry every 3 s. ` +
  'Use Redis 6.2 or later, or Valkey, or ask the provider which commands its plan or proxy removes.';

/** Reads the names of commands, each with the error that it gives without its arguments. */
const readErrors = (raw: unknown): ReadonlyArray<readonly [name: string, error: Error]> =>
  listOf(raw, text).flatMap((name, i, all) => (i % 2 === 0 ? [[name, new Error(all[i + 1])] as const] : []));
