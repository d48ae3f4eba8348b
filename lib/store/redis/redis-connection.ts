import { Redis, type RedisOptions } from 'ioredis';
import type { LockLogger } from '../../common/logger.js';

/** How many ms a closed connection may linger: ioredis waits so long also for one that is closed already. */
const LINGER = 100;

/** How connections of our own behave, unless the user's options say otherwise. */
const OWN_OPTIONS: RedisOptions = {
  // A command waits for the connection; how long at most is commandTimeout's business.
  maxRetriesPerRequest: null,
  disconnectTimeout: LINGER,
  retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times - 1, 5), 1_000),
  // A server that still loads its data guesses how many seconds that takes, one at least: mostly it is there long before.
  maxLoadingRetryTime: 100,
  // A master that has become a replica: reconnecting leads to the new one.
  // Redis 6.2 puts its own words before the error of a script.
  reconnectOnError: (error) => /\bREADONLY\b/.test(error.message),
};
/** We subscribe ourselves, so as to know when the server has confirmed it. */
const SUBSCRIBER_OPTIONS: RedisOptions = {
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: null,
  disconnectTimeout: LINGER,
  lazyConnect: true,
  // Not those of a user's client: long silence is the rule here, and a SUBSCRIBE that was given up may be heard yet.
  commandTimeout: undefined,
  socketTimeout: undefined,
};

/** A WAIT that was given up must not be sent again behind another one. */
const REPLICATION_OPTIONS: RedisOptions = {
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  disconnectTimeout: LINGER,
  lazyConnect: true,
  commandTimeout: undefined,
  socketTimeout: undefined,
};

/** Node sets timers that are longer than this to 1 ms. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** How many ms after a refused subscription the next one is tried. */
const SUBSCRIBE_AGAIN = 1_000;

/** Who hears of what happens to the connections. */
export interface ConnectionObserver {
  /** The server has confirmed the subscription, for the first time or anew. */
  subscribed(): void;
  /** The connection for commands is there again. */
  reconnected(): void;
  message(message: string): void;
}

/**
 * The two connections of a client: one for commands and one that listens on the client's channel. A client that the
 * user brought is used for commands and never closed; all others are ours.
 */
export class RedisConnection {
  readonly commands: Redis;
  /** Whether the server has confirmed the subscription, and the connection has stood since. */
  listening = false;
  /** How often a connection has been lost. */
  epoch = 0;

  private downSince: number | undefined;
  private readonly subscriber: Redis;
  private readonly ownsCommands: boolean;
  private lastError: Error | undefined;
  private closed = false;
  private readonly watch: Array<() => void> = [];

  constructor(
    connection: string | RedisOptions | Redis,
    commandTimeout: number,
    private readonly channel: string,
    private readonly logger: LockLogger,
    private readonly observer: ConnectionObserver,
  ) {
    this.ownsCommands = !isClient(connection);
    this.commands = isClient(connection) ? connection : connect(connection, commandTimeout);
    this.subscriber = this.commands.duplicate(SUBSCRIBER_OPTIONS);
    this.watchCommands();
    this.watchSubscriber();
  }

  /** For WAIT, which blocks what is behind it; opened when it is first used. */
  get replication(): Redis {
    this.replicating ??= this.commands.duplicate(REPLICATION_OPTIONS).on('error', () => undefined);
    return this.replicating;
  }
  private replicating: Redis | undefined;

  /** The last error of a connection that is down. */
  get trouble(): Error | undefined {
    return this.commands.status === 'ready' ? undefined : this.lastError;
  }

  /** Why no message can be heard, as far as that is known. */
  get deafness(): Error | undefined {
    return this.listening ? undefined : this.lastError;
  }

  /** For how many ms the connection for commands has been down. */
  get downFor(): number {
    return this.downSince === undefined ? 0 : performance.now() - this.downSince;
  }

  /** Begins to connect. What comes of it is told to the observer; failing connections are tried again for ever. */
  open(): void {
    for (const client of [this.commands, this.subscriber]) {
      if (client.status === 'wait') client.connect().catch(() => undefined);
    }
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.listening = false;
    for (const stop of this.watch) stop();
    this.subscriber.disconnect();
    this.replicating?.disconnect();
    if (this.ownsCommands) this.commands.disconnect();
  }

  private watchCommands(): void {
    let lost = false;
    this.on(this.commands, 'close', () => {
      lost = true;
      this.downSince ??= performance.now();
      this.epoch += 1;
    });
    this.on(this.commands, 'ready', () => {
      this.downSince = undefined;
      this.recovered();
      if (lost) this.observer.reconnected();
      lost = false;
    });
    if (this.ownsCommands) this.on(this.commands, 'error', (error: Error) => this.failed(error));
  }

  private watchSubscriber(): void {
    this.on(this.subscriber, 'ready', () => void this.subscribe());
    this.on(this.subscriber, 'close', () => {
      this.listening = false;
      this.epoch += 1;
    });
    this.on(this.subscriber, 'error', (error: Error) => this.failed(error));
    this.on(this.subscriber, 'message', (_channel: string, message: string) => this.observer.message(message));
  }

  private async subscribe(): Promise<void> {
    try {
      await this.subscriber.subscribe(this.channel);
    } catch (error) {
      if (this.closed) return;
      this.failed(error as Error);
      setTimeout(() => this.subscribeAgain(), SUBSCRIBE_AGAIN).unref();
      return;
    }
    this.listening = true;
    this.recovered();
    this.observer.subscribed();
  }

  private subscribeAgain(): void {
    if (!this.closed && this.subscriber.status === 'ready') void this.subscribe();
  }

  /** One line for each outage, however long it takes. */
  private failed(error: Error): void {
    const first = this.lastError === undefined;
    this.lastError = error;
    const said = error.message === '' ? error.name : error.message;
    if (first) this.logger.error(`Redis connection failed, trying again: ${said}`);
  }

  private recovered(): void {
    if (this.lastError === undefined || this.commands.status !== 'ready' || !this.listening) return;
    this.lastError = undefined;
    this.logger.log('Redis is connected again');
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

function connect(connection: string | RedisOptions, commandTimeout: number): Redis {
  // A connection can be dead without anybody closing it: a node that was replaced behind its address. TCP alone needs a
  // quarter of an hour to find out. Not before a question that was asked twice has been given up: the leave that follows
  // goes out on this connection, and where only replies are lost it is heard.
  const options: RedisOptions = { ...OWN_OPTIONS, socketTimeout: Math.min(3 * commandTimeout, LONGEST_TIMER) };
  return typeof connection === 'string'
    ? new Redis(connection, { ...options, lazyConnect: true })
    : new Redis({ ...options, ...connection, lazyConnect: true });
}
