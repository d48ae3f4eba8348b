import { setTimeout as sleep } from 'node:timers/promises';
import { LINGER, silenceLimit } from './connection-options.js';
import { databaseRefusal, type OwnClientOptions } from './ioredis-lines.js';
import type { Line, LineObserver, Lines, ServerAddress } from './line.js';
import { allArgs, type ScriptCall } from './script-call.js';

/** A client of the package `redis` (node-redis) 5 or 6, made by `createClient`. The library imports nothing of it. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly options?: object | undefined;
  duplicate(...overrides: any[]): unknown;
  sendCommand(args: any, ...more: any[]): Promise<unknown>;
  subscribe(...args: any[]): Promise<unknown>;
  destroy(): void;
}

/** The options that are read. */
interface NodeRedisOptions {
  readonly socket?: { readonly host?: string; readonly port?: number; readonly path?: string };
  readonly database?: number;
  readonly name?: string;
}

/** What a line uses of its own client. */
interface OwnClient extends NodeRedisClient {
  connect(): Promise<unknown>;
  sendCommand(words: readonly string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  on(event: string, listener: (...args: any[]) => void): void;
  unref(): void;
  close(): Promise<void>;
}

/** Whether this is a client of one server, made by any copy of node-redis 5 or 6. */
export const isNodeRedisClient = (connection: unknown): connection is NodeRedisClient => {
  if (typeof connection !== 'object' || connection === null) return false;
  const { isOpen, isReady, options, connector } = connection as Record<string, unknown>;
  const methods = ['duplicate', 'sendCommand', 'subscribe', 'destroy', 'unref', 'createPool'];
  return (
    typeof isOpen === 'boolean' &&
    typeof isReady === 'boolean' &&
    (options === undefined || typeof options === 'object') &&
    connector === undefined &&
    methods.every((name) => typeof (connection as Record<string, unknown>)[name] === 'function')
  );
};

/**
 * What commands and replies need, whatever the options of the client say. Other options change what a client does by
 * itself, beside its commands.
 */
const EXACT = {
  // The options contain what the URL says.
  url: undefined,
  RESP: 2,
  commandOptions: undefined,
  keyPrefix: undefined,
  // The library has its own queue. Commands are sent again by the library, in their order.
  disableOfflineQueue: true,
  commandsQueueMaxLength: undefined,
  pingInterval: undefined,
  readonly: undefined,
  clientSideCache: undefined,
  emitInvalidate: undefined,
  maintNotifications: 'disabled',
  himportRegistry: undefined,
  // A server may refuse it, so it is sent after the login.
  name: undefined,
} as const;

/** Lines over node-redis: each is a duplicate of the client that the application passes in. */
export class NodeRedisLines implements Lines {
  readonly silence: number;

  constructor(
    private readonly template: NodeRedisClient,
    private readonly own: OwnClientOptions,
  ) {
    this.silence = silenceLimit(own.commandTimeout);
  }

  open(observer: LineObserver, address?: ServerAddress): Line {
    const options: NodeRedisOptions = this.template.options ?? {};
    const socket = { ...options.socket, ...address, reconnectStrategy: false, socketTimeout: undefined };
    const client = this.template.duplicate({ ...EXACT, socket }) as OwnClient;
    return new NodeRedisLine(client, observer, options, options.name ?? this.own.label);
  }
}

/** After how many ms a server that loads its data is asked again. */
const LOADING_AGAIN = 100;

class NodeRedisLine implements Line {
  readonly opened: Promise<void>;
  readonly peer: string;
  private isOver = false;
  private isConnected = false;
  private isGreeted = false;

  constructor(
    private readonly client: OwnClient,
    private readonly observer: LineObserver,
    private readonly options: NodeRedisOptions,
    private readonly name: string | undefined,
  ) {
    const { host = 'localhost', port = 6379, path } = options.socket ?? {};
    this.peer = path ?? `${host}:${port}`;
    // An application that fails to start closes nothing. Commands and waiters that are pending keep the process running.
    client.unref();
    client.on('connect', () => {
      this.isConnected = true;
      if (!this.isOver) observer.connected?.();
    });
    // A server that closes a connection in use has its reasons, and is no failure yet.
    client.on('error', (error: Error) =>
      this.end(this.isGreeted && CLOSED.test(error.message) ? undefined : this.readError(error)),
    );
    client.on('end', () => this.end(undefined));
    this.opened = this.open();
    this.opened.catch((error: Error) => this.end(this.readError(error)));
  }

  get state(): Line['state'] {
    if (this.isOver || (this.isGreeted && !this.client.isReady)) return 'ended';
    return this.isGreeted ? 'ready' : 'opening';
  }

  get unanswered(): Error | undefined {
    if (!this.isConnected || this.isGreeted || this.isOver) return undefined;
    return new Error(`${this.peer} accepts connections and does not answer`);
  }

  run(call: ScriptCall): Promise<unknown> {
    return this.send(call.command, ...allArgs(call));
  }

  send(command: string, ...args: ReadonlyArray<string | number>): Promise<unknown> {
    return this.client.sendCommand([command, ...args.map(String)]).then(marked, this.refuse);
  }

  subscribe(channel: string): Promise<void> {
    return this.client
      .subscribe(channel, (message) => this.isOver || this.observer.message?.(channel, message, false))
      .catch(this.refuse);
  }

  subscribeInSlot(): Promise<void> {
    return Promise.reject(new Error('this line leads to no Cluster'));
  }

  unsubscribe(channel: string): void {
    this.client.unsubscribe(channel).catch(() => undefined);
  }

  close(isBroken = false): void {
    this.isOver = true;
    const destroy = (): void => {
      try {
        this.client.destroy();
      } catch {
        // It is closed already.
      }
    };
    // The client may be in the middle of its own work on the same failure.
    if (isBroken) return void setImmediate(destroy);
    // What has been sent still goes out.
    const timer = setTimeout(destroy, LINGER).unref();
    this.client.close().then(
      () => clearTimeout(timer),
      () => undefined,
    );
  }

  private end(error: Error | undefined): void {
    if (this.isOver) return;
    this.close(true);
    this.observer.ended?.(error);
  }

  private readonly refuse = (error: Error): never => {
    throw this.readError(error);
  };

  /** node-redis gives the errors of servers no name of their own. */
  private readError(error: Error): Error {
    const { database } = this.options;
    if (REPLY.test(error.message)) error.name = 'ReplyError';
    return database && !this.isGreeted && DATABASE.test(error.message) ? databaseRefusal(error, database) : error;
  }

  private async open(): Promise<void> {
    await this.client.connect();
    await this.untilLoaded();
    this.isGreeted = true;
    if (this.name !== undefined) this.send('CLIENT', 'SETNAME', this.name).catch(() => undefined);
  }

  private async untilLoaded(): Promise<void> {
    for (;;) {
      try {
        await this.send('PING');
        return;
      } catch (error) {
        const { message } = error as Error;
        // A server that does not permit PING has answered.
        if (/^NOPERM\b/.test(message)) return;
        if (!/^LOADING\b/.test(message)) throw error;
      }
      await sleep(LOADING_AGAIN, undefined, { ref: false });
    }
  }
}

/** Marks the errors within a reply, such as those of single leases, as answers of the server. */
function marked(reply: unknown): unknown {
  if (Array.isArray(reply)) for (const each of reply) if (each instanceof Error) each.name = 'ReplyError';
  return reply;
}

/** The errors of a server begin with a code, and those of node-redis and Node do not. */
const REPLY = /^[A-Z]{2,} /;
const CLOSED = /^Socket closed unexpectedly/;
/** The refusal of a database. */
const DATABASE = /\b(DB|select)\b/i;
