import { LockConfigError } from '../errors/index.js';
import { LINGER, mappedBy, silenceLimit, type OwnClientOptions } from '../store/redis/connection-options.js';
import type { Line, LineObserver, Lines, ServerAddress, SentScript } from '../store/redis/line.js';
import { allArgs } from '../store/redis/script-call.js';
import type { ClusterTarget } from '../store/redis/servers.js';
import { closedUnanswered, databaseRefusal, silentServer, silentWithTls } from '../store/redis/store-failure.js';
import type { NodeRedisClient, NodeRedisCluster } from './clients.js';

/** The options that are read. */
interface NodeRedisOptions {
  readonly url?: string;
  readonly socket?: { readonly host?: string; readonly port?: number; readonly path?: string; readonly tls?: boolean };
  readonly database?: number;
  readonly name?: string;
}

/** The options of a Cluster that are read. */
interface NodeRedisClusterOptions {
  readonly rootNodes: readonly NodeRedisOptions[];
  readonly defaults?: NodeRedisOptions;
  readonly nodeAddressMap?: Parameters<typeof mappedBy>[0];
}

/** What a line uses of its own client. */
interface OwnClient extends NodeRedisClient {
  connect(): Promise<unknown>;
  sendCommand(words: readonly string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  sSubscribe(channel: string, listener: () => void): Promise<void>;
  sUnsubscribe(channel: string): Promise<void>;
  getPubSubListeners(type: 'SHARDED'): Map<string, unknown>;
  _getQueue?(): { readonly decoder: { onPush: (push: readonly unknown[]) => unknown } };
  on(event: string, listener: (...args: any[]) => void): void;
  unref(): void;
  close(): Promise<void>;
}

/**
 * What commands and replies need, whatever the options of the client say. Other options change what a client does by
 * itself, beside its commands.
 */
const EXACT = {
  // The options contain what the URL says.
  url: undefined,
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
    /** What is different for the nodes of a Cluster. */
    private readonly overrides: object = {},
  ) {
    this.silence = silenceLimit(own.commandTimeout);
  }

  open(observer: LineObserver, address?: ServerAddress): Line {
    const options: NodeRedisOptions = { ...this.template.options, ...this.overrides };
    const socket = { ...options.socket, ...address, reconnectStrategy: false, socketTimeout: undefined };
    const client = this.template.duplicate({ ...EXACT, ...this.overrides, socket }) as OwnClient;
    return new NodeRedisLine(client, observer, { ...options, socket }, options.name ?? this.own.label);
  }
}

/** The Cluster to which a client of node-redis leads. */
export function nodeRedisCluster(cluster: NodeRedisCluster, own: OwnClientOptions): ClusterTarget {
  const { rootNodes, defaults, nodeAddressMap } = cluster._options as NodeRedisClusterOptions;
  return {
    // In RESP2, a notice that a slot has moved looks like a reply.
    lines: new NodeRedisLines(nodeTemplate(cluster), own, { RESP: 3, database: undefined }),
    named: async () =>
      rootNodes.map(({ url, socket }) => {
        const { hostname, port } = url === undefined ? {} : new URL(url);
        const { host = hostname || 'localhost', port: at = port || 6_379 } = { ...defaults?.socket, ...socket };
        return { host, port: Number(at) };
      }),
    resolveNat: mappedBy(nodeAddressMap),
  };
}

/**
 * A client for one server with the options that a Cluster has for its nodes. node-redis makes one only while it connects, so
 * this one does, to a port that no server can have.
 */
function nodeTemplate(cluster: NodeRedisCluster): NodeRedisClient {
  const { defaults } = cluster._options as NodeRedisClusterOptions;
  const node: { client?: OwnClient } & ServerAddress = { host: '127.0.0.1', port: 0 };
  const own = cluster.duplicate({
    ...{ rootNodes: [], nodeAddressMap: undefined, keyPrefix: undefined, clientSideCache: undefined },
    defaults: { ...defaults, ...EXACT, socket: { ...defaults?.socket, reconnectStrategy: false } },
    RESP: 3,
  }) as NodeRedisCluster;
  own.nodeClient(node).catch(() => undefined);
  if (node.client?._getQueue === undefined) {
    throw new LockConfigError(
      'connection is a Cluster client of node-redis (createCluster) before version 5.12, with which messages to waiters are ' +
        'lost when slots move: update the package redis.',
    );
  }
  return node.client;
}

class NodeRedisLine implements Line {
  readonly opened: Promise<void>;
  readonly peer: string;
  private isOver = false;
  private isConnected = false;
  private isGreeted = false;
  /** How many subscriptions in slots are under way. */
  private subscribing = 0;
  /** The channels in slots that no caller needs, and the ones that the line is leaving. */
  private readonly unused = new Set<string>();
  private readonly leaving = new Set<string>();
  private left: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly client: OwnClient,
    private readonly observer: LineObserver,
    private readonly options: NodeRedisOptions,
    private readonly name: string | undefined,
  ) {
    const { host = 'localhost', port = 6379, path } = options.socket ?? {};
    this.peer = path ?? `${host}:${port}`;
    this.readPushes();
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

  private get hasTls(): boolean {
    return this.options.socket?.tls === true;
  }

  get unanswered(): Error | undefined {
    if (this.isGreeted || this.isOver) return undefined;
    if (this.isConnected) return silentServer(this.peer, this.hasTls);
    // node-redis does not report a connection before TLS.
    return this.hasTls ? silentWithTls(this.peer, 'does') : undefined;
  }

  run(script: SentScript): void {
    this.send(script.command, ...allArgs(script)).then(
      (reply) => this.observer.answered?.(script, reply),
      (error: Error) => this.observer.failed?.(script, error),
    );
  }

  send(command: string, ...args: ReadonlyArray<string | number>): Promise<unknown> {
    return this.client.sendCommand([command, ...args.map(String)]).then(marked, this.refuse);
  }

  subscribe(channel: string): Promise<void> {
    return this.client
      .subscribe(channel, (message) => this.isOver || this.observer.message?.(channel, message, false))
      .catch(this.refuse);
  }

  async subscribeInSlot(channel: string): Promise<void> {
    this.unused.delete(channel);
    while (this.leaving.size > 0) await this.left;
    this.subscribing += 1;
    try {
      // node-redis sends nothing for a channel to which it has subscribed before.
      this.client.getPubSubListeners('SHARDED').delete(channel);
      await this.client.sSubscribe(channel, () => undefined);
    } catch (error) {
      this.refuse(error as Error);
    } finally {
      this.subscribing -= 1;
      this.leaveUnused();
    }
  }

  unsubscribe(channel: string, isInSlot: boolean): void {
    if (!isInSlot) return void this.client.unsubscribe(channel).catch(() => undefined);
    this.unused.add(channel);
    this.leaveUnused();
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

  /**
   * Leaves channels in slots while no subscription is under way. node-redis takes each `sunsubscribe` for the reply to its
   * oldest command, whichever that is.
   */
  private leaveUnused(): void {
    if (this.unused.size === 0 || this.subscribing > 0 || this.leaving.size > 0 || this.isOver) return;
    for (const channel of this.unused) this.leaving.add(channel);
    this.unused.clear();
    const left = [...this.leaving].map((channel) => this.client.sUnsubscribe(channel));
    this.left = Promise.allSettled(left).then(() => {
      this.leaving.clear();
      this.leaveUnused();
    });
  }

  /**
   * Reads what the server sends unasked about channels in slots (RESP3), before node-redis does: if a slot moves while a
   * command is under way, node-redis 5 and 6 lose count of the replies, and throw where no one can catch it.
   */
  private readPushes(): void {
    const decoder = this.client._getQueue?.().decoder;
    if (decoder === undefined) return;
    const { onPush } = decoder;
    decoder.onPush = (push) => {
      const [kind, channel, message] = push.slice(0, 3).map(String) as [string, string, string];
      if (kind === 'smessage') return this.isOver || this.observer.message?.(channel, message, true);
      if (kind !== 'sunsubscribe' || this.leaving.has(channel)) return onPush(push);
      if (!this.isOver) this.observer.departed?.([channel]);
    };
  }

  private end(error: Error | undefined): void {
    if (this.isOver) return;
    this.close(true);
    this.observer.ended?.(error);
  }

  /** A command that was not refused was lost with its connection. */
  private readonly refuse = (error: Error): never => {
    throw REPLY.test(error.message) ? this.readError(error) : new Error('Connection is closed.', { cause: error });
  };

  /** node-redis gives the errors of servers no name of their own. */
  private readError(error: Error): Error {
    const { database } = this.options;
    if (!this.isGreeted && ENDED.test(error.message)) return closedUnanswered(this.peer, this.hasTls, error);
    if (REPLY.test(error.message)) error.name = 'ReplyError';
    return database && !this.isGreeted && DATABASE.test(error.message) ? databaseRefusal(error, database) : error;
  }

  private async open(): Promise<void> {
    await this.client.connect();
    // A server that loads its data refuses PING. A server that does not permit PING has answered.
    await this.send('PING').catch((error: Error) => {
      if (!/^NOPERM\b/.test(error.message)) throw error;
    });
    this.isGreeted = true;
    if (this.name !== undefined) this.send('CLIENT', 'SETNAME', this.name).catch(() => undefined);
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
/** The errors of a connection that the other end has closed, and maybe not in order. */
const ENDED = /^Socket closed unexpectedly|EPIPE|ECONNRESET/;
/** The refusal of a database. */
const DATABASE = /\b(DB|select)\b/i;
