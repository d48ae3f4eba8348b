import type { Cluster, ClusterNode, ClusterOptions, Redis } from 'ioredis';
import type { LockLogger } from '../../common/logger.js';
import { busChannel, hashSlot, shardChannel } from '../../keys/index.js';
import { ClientEvents } from './client-events.js';
import { connectCluster, handleAsking, isCluster, reasonOf } from './cluster-client.js';
import { ClusterListener } from './cluster-listener.js';
import { ClusterNodes } from './cluster-nodes.js';
import { ClusterReplicas } from './cluster-replicas.js';
import { ConnectionLog } from './connection-log.js';
import { DOUBT_AGAIN } from './connection-options.js';
import type { Connection, ConnectionObserver } from './connection.js';
import type { Subscription } from './subscription.js';

/** The nodes of a Redis Cluster, some of them at least, and what ioredis takes beside them. */
export interface ClusterAddress {
  readonly cluster: readonly ClusterNode[];
  readonly options?: ClusterOptions;
}

export interface ClusterConnectionOptions {
  readonly connection: ClusterAddress | Cluster;
  readonly keyPrefix: string;
  readonly clientId: string;
  /** ms */
  readonly commandTimeout: number;
}

/** What may fail beside single nodes: what listens, and all of them together. */
const LINES = 'lines';
const ALL = 'all';

/**
 * A client's connections to a Redis Cluster: ioredis's own for commands, which follow MOVED and ASK, and lines that
 * listen. A Cluster that the user brought is used for commands and never closed; all others are ours.
 */
export class ClusterConnection implements Connection {
  readonly commands: Cluster;
  readonly replicas: ClusterReplicas;
  epoch = 0;

  private readonly owned: boolean;
  private readonly log: ConnectionLog;
  private readonly nodes: ClusterNodes;
  private readonly listener: ClusterListener;
  private readonly watched = new Map<Redis, () => void>();
  /** The nodes that could not be reached, as far as they are still nodes. */
  private readonly failing = new Set<string>();
  /** The nodes that the user named, and those that were known last: all that were named may be gone after an outage. */
  private readonly startup: ClusterNode[] = [];
  private downSince: number | undefined;
  private lost = false;
  private closed = false;
  private readonly events = new ClientEvents();

  constructor(
    private readonly options: ClusterConnectionOptions,
    logger: LockLogger,
    private readonly observer: ConnectionObserver,
  ) {
    const { connection, keyPrefix, clientId, commandTimeout } = options;
    this.log = new ConnectionLog(logger);
    this.owned = !isCluster(connection);
    if (!isCluster(connection)) this.startup.push(...connection.cluster);
    this.commands = isCluster(connection)
      ? connection
      : connectCluster(this.startup, connection.options, commandTimeout);
    this.nodes = new ClusterNodes(this.commands);
    this.replicas = new ClusterReplicas(this.nodes, commandTimeout, () => this.doubt());
    this.listener = new ClusterListener(this.nodes, busChannel(keyPrefix, clientId), {
      message: (message, how) => (how === 'sharded' ? observer.message(message) : observer.unorderedMessage(message)),
      lost: () => (this.epoch += 1),
      restored: () => {
        if (this.listener.isWhole) this.recovered(LINES);
        observer.subscribed();
      },
      failed: (error) => this.failed(error, LINES),
    });
    this.watchCommands();
  }

  get listening(): boolean {
    return this.listener.listening;
  }

  get hearsAll(): boolean {
    return this.listener.hearsAll;
  }

  get commandError(): Error | undefined {
    return this.commands.status === 'ready' ? undefined : this.log.lastError;
  }

  get subscriptionError(): Error | undefined {
    return this.listening ? undefined : this.log.lastError;
  }

  get downFor(): number {
    return this.downSince === undefined ? 0 : performance.now() - this.downSince;
  }

  open(): void {
    if (this.commands.status === 'wait') this.commands.connect().catch(() => undefined);
    // Of who the nodes are the client learns first.
    if (this.commands.status === 'ready') this.listener.open();
    this.doubtUntilListening();
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.events.stop();
    for (const stop of this.watched.values()) stop();
    this.listener.close();
    this.replicas.close();
    if (this.owned) this.commands.disconnect();
  }

  /** Nodes that are frozen, or cut off, tell nobody that they have lost their slots; the others know. */
  doubt(): void {
    if (!this.closed && this.commands.status !== 'wait') void this.nodes.refresh();
  }

  channels(key: string): string {
    return shardChannel(this.options.keyPrefix, key, '');
  }

  isSubscribed(key: string, patience: number): boolean {
    return this.listener.isSubscribed(this.channelOf(key), patience);
  }

  subscription(key: string): Subscription | undefined {
    return this.listener.subscription(this.channelOf(key));
  }

  subscribeTo(key: string, patience: number, limit: number): Promise<boolean> {
    return this.listener.subscribeTo(this.channelOf(key), patience, limit);
  }

  /** By slot: that is what one command may speak of. */
  group<T extends { readonly key: string }>(items: readonly T[]): T[][] {
    const groups = new Map<number, T[]>();
    for (const item of items) {
      const slot = hashSlot(this.channels(item.key));
      const group = groups.get(slot);
      if (group === undefined) groups.set(slot, [item]);
      else group.push(item);
    }
    return [...groups.values()];
  }

  /** The first node that is asked, or the one on which we are to listen, may be one that is frozen. */
  private doubtUntilListening(): void {
    setTimeout(() => {
      if (this.closed || this.listening) return;
      this.doubt();
      this.doubtUntilListening();
    }, DOUBT_AGAIN).unref();
  }

  private channelOf(key: string): string {
    return shardChannel(this.options.keyPrefix, key, this.options.clientId);
  }

  private watchCommands(): void {
    this.events.on(this.commands, 'close', () => {
      this.downSince ??= performance.now();
      this.interrupted();
    });
    this.events.on(this.commands, 'ready', () => {
      this.downSince = undefined;
      this.listener.open();
      this.resumed(ALL);
    });
    this.events.on(this.commands, 'refresh', () => {
      this.listener.follow();
      this.forgetGone();
      this.replicas.follow();
      this.rememberNodes();
    });
    this.events.on(this.commands, '+node', (node: Redis) => this.watchNode(node));
    this.events.on(this.commands, '-node', (node: Redis) => this.unwatchNode(node));
    for (const node of this.commands.nodes()) this.watchNode(node);
    if (this.owned) {
      this.events.on(this.commands, 'error', (error: Error) => this.failed(reasonOf(error), ALL));
      this.events.on(this.commands, 'node error', (error: Error, address: string) => this.failed(error, address));
    }
  }

  /** A node that breaks off may have executed what it was asked, and ioredis asks again. */
  private watchNode(node: Redis): void {
    if (this.watched.has(node)) return;
    if (this.owned) handleAsking(node);
    const interrupted = (): void => this.interrupted();
    const resumed = (): void => this.resumed(addressOf(node));
    node.on('close', interrupted);
    node.on('ready', resumed);
    this.watched.set(node, () => {
      node.off('close', interrupted);
      node.off('ready', resumed);
    });
  }

  private unwatchNode(node: Redis): void {
    this.watched.get(node)?.();
    this.watched.delete(node);
  }

  private interrupted(): void {
    this.lost = true;
    this.epoch += 1;
  }

  private resumed(address: string): void {
    this.recovered(address);
    if (!this.lost || this.commands.status !== 'ready') return;
    this.lost = false;
    this.observer.reconnected();
  }

  private failed(error: Error, address: string): void {
    this.failing.add(address);
    this.log.failed(error);
  }

  /** It is over when all are there again. */
  private recovered(address: string): void {
    this.failing.delete(address);
    if (this.failing.size === 0 && this.commands.status === 'ready' && this.listening) this.log.recovered();
  }

  /** Who is no node any more need not come back. */
  private forgetGone(): void {
    const nodes = new Set(this.commands.nodes().map(addressOf));
    for (const address of this.failing) {
      if (address !== LINES && !nodes.has(address)) this.recovered(address);
    }
  }

  /** Those that are down may be missing in what the Cluster says: they are forgotten when others have taken their places. */
  private rememberNodes(): void {
    const { connection } = this.options;
    if (isCluster(connection)) return;
    const known = this.commands.nodes().map(({ options: { host, port } }) => ({ host, port }));
    const listed = connection.cluster.length;
    if (known.length >= this.startup.length - listed) this.startup.splice(listed, Infinity, ...known);
  }
}

const addressOf = ({ options }: Redis): string => `${options.host}:${options.port}`;
