import type { Cluster, ClusterNode, ClusterOptions, Redis } from 'ioredis';
import type { LockLogger } from '../../common/logger.js';
import { busChannel, groupBySlot, hashSlot, shardChannel } from '../../keys/index.js';
import { ClientEvents } from './client-events.js';
import { connectCluster, handleAsking, reasonOf } from './cluster-client.js';
import { ClusterListener } from './cluster-listener.js';
import { ClusterNodes } from './cluster-nodes.js';
import { ClusterReplicas } from './cluster-replicas.js';
import { letProcessEnd } from './let-process-end.js';
import { ConnectionLog } from './connection-log.js';
import type { Connection, ConnectionObserver, ConnectionOptions, Masters } from './connection.js';
import { doubtUntilListening } from './doubt-until-listening.js';
import type { ScannedNode } from './key-scan.js';
import type { Commands } from './line.js';
import { allArgs } from './script-call.js';
import type { Subscription } from './subscription.js';

/** Some of the nodes of a Redis Cluster, and the options that ioredis takes for it. */
export interface ClusterAddress {
  readonly cluster: readonly ClusterNode[];
  readonly options?: ClusterOptions;
}

export interface ClusterConnectionOptions extends ConnectionOptions {
  readonly connection: ClusterAddress;
}

/** What can fail besides a single node: the subscriptions, or all nodes together. */
const LINES = 'lines';
const ALL = 'all';

/**
 * The connections of one client to a Redis Cluster. For commands it uses ioredis' own connections, which follow MOVED
 * and ASK. Shard subscribers receive the messages.
 */
export class ClusterConnection implements Connection {
  readonly commands: Commands = {
    run: (call) => this.router[call.command](...allArgs(call)),
    send: (command, ...args) => this.router.call(command, ...args),
  };
  /** There are several. */
  readonly address = undefined;
  readonly replicas: ClusterReplicas;
  epoch = 0;

  private readonly router: Cluster;
  private readonly log: ConnectionLog;
  private readonly slotMap: ClusterNodes;
  private readonly listener: ClusterListener;
  private readonly watched = new Map<Redis, () => void>();
  /** The nodes that could not be reached and still belong to the Cluster. */
  private readonly failing = new Set<string>();
  /**
   * The nodes that the user named, then the nodes that were known last: after an outage, all the named ones may be
   * gone.
   */
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
    const { connection, keyPrefix, clientId, commandTimeout, label } = options;
    this.log = new ConnectionLog(logger);
    this.startup.push(...connection.cluster);
    this.router = connectCluster(this.startup, connection.options, commandTimeout, label);
    this.slotMap = new ClusterNodes(
      this.router,
      (served, refreshed) => {
        this.epoch += 1;
        void refreshed.then(() => observer.nodeLost?.((name) => served.has(hashSlot(name))));
      },
      () => (this.epoch += 1),
    );
    this.replicas = new ClusterReplicas(this.slotMap, commandTimeout, () => this.doubt());
    const bus = busChannel(keyPrefix, clientId);
    this.listener = new ClusterListener(this.slotMap, bus, options.isSharded, {
      message: (message, how, channel) => {
        if (options.keyChannel !== undefined && channel !== bus) observer.keyMessage?.(channel, message);
        else if (how === 'sharded') observer.message(message);
        else observer.unorderedMessage(message);
      },
      placedLate: (channel) => observer.keySubscribed?.(channel),
      lost: () => (this.epoch += 1),
      restored: (names) => {
        if (this.listener.isWhole) this.recovered(LINES);
        observer.subscribed(names && ((key) => names.has(this.channelOf(key))));
      },
      failed: (error) => this.failed(error, LINES),
    });
    this.watchCommands();
  }

  get masters(): Masters {
    return this.slotMap;
  }

  get listening(): boolean {
    return this.listener.listening;
  }

  get fullySubscribed(): boolean {
    return this.listener.fullySubscribed;
  }

  get commandError(): Error | undefined {
    return this.router.status === 'ready' ? undefined : this.log.lastError;
  }

  get subscriptionError(): Error | undefined {
    return this.listening ? undefined : this.log.lastError;
  }

  get downFor(): number {
    return this.downSince === undefined ? 0 : performance.now() - this.downSince;
  }

  open(): void {
    if (this.router.status === 'wait') this.router.connect().catch(() => undefined);
    // The listener needs the list of nodes, which the client has to fetch first.
    if (this.router.status === 'ready') this.listener.open();
    // The first node that is asked, or the node to subscribe to, may be frozen.
    doubtUntilListening(this, () => this.closed);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.events.stop();
    for (const stop of this.watched.values()) stop();
    this.listener.close();
    this.replicas.close();
    this.router.disconnect();
  }

  /** A node that is frozen or cut off cannot report that it has lost its slots. The other nodes can. */
  doubt(): void {
    if (!this.closed && this.router.status !== 'wait') void this.slotMap.examine();
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

  nodes(): ScannedNode[] {
    return this.router.nodes('master').map((node) => {
      const send: Commands['send'] = (command, ...args) => node.call(command, ...args);
      return { address: addressOf(node), commands: { ...this.commands, send } };
    });
  }

  /** They are separated from the start. */
  separateSlots(): void {}

  group<T extends { readonly key: string }>(items: readonly T[], nameOf: (key: string) => string): T[][] {
    return groupBySlot(items, nameOf);
  }

  private channelOf(key: string): string {
    const { keyPrefix, clientId, keyChannel } = this.options;
    return keyChannel?.(key) ?? shardChannel(keyPrefix, key, clientId);
  }

  private watchCommands(): void {
    this.events.on(this.router, 'close', () => {
      this.downSince ??= performance.now();
      this.interrupted();
    });
    this.events.on(this.router, 'ready', () => {
      this.downSince = undefined;
      this.listener.open();
      this.resumed(ALL);
    });
    this.events.on(this.router, 'refresh', () => {
      this.slotMap.separateSlots();
      this.listener.follow();
      this.forgetGone();
      this.replicas.follow();
      this.rememberNodes();
    });
    this.events.on(this.router, '+node', (node: Redis) => this.watchNode(node));
    this.events.on(this.router, '-node', (node: Redis) => this.unwatchNode(node));
    for (const node of this.router.nodes()) this.watchNode(node);
    this.events.on(this.router, 'error', (error: Error) => this.failed(reasonOf(error), ALL));
    this.events.on(this.router, 'node error', (error: Error, address: string) => this.failed(error, address));
  }

  /** A node may have executed a command before its connection broke. ioredis sends such commands again. */
  private watchNode(node: Redis): void {
    if (this.watched.has(node)) return;
    handleAsking(node);
    letProcessEnd(node);
    const address = addressOf(node);
    const interrupted = (): void => {
      this.interrupted();
      // ioredis connects to a node when a command needs it. Until then this client would not learn of another master.
      this.observer.nodeLost?.((name) => this.slotMap.isOwner(address, hashSlot(name)));
    };
    const resumed = (): void => this.resumed(address);
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
    if (!this.lost || this.router.status !== 'ready') return;
    this.lost = false;
    this.observer.reconnected();
  }

  private failed(error: Error, address: string): void {
    this.failing.add(address);
    this.log.failed(error);
  }

  /** The outage is over when all nodes are connected again. */
  private recovered(address: string): void {
    this.failing.delete(address);
    if (this.failing.size === 0 && this.router.status === 'ready' && this.listening) this.log.recovered();
  }

  /** A node that has left the Cluster need not recover. */
  private forgetGone(): void {
    const nodes = new Set(this.router.nodes().map(addressOf));
    for (const address of this.failing) {
      if (address !== LINES && !nodes.has(address)) this.recovered(address);
    }
  }

  /**
   * The list that the Cluster reports may lack nodes that are down. They are dropped only when as many other nodes have
   * taken their places.
   */
  private rememberNodes(): void {
    const known = this.router.nodes().map(({ options: { host, port } }) => ({ host, port }));
    const listed = this.options.connection.cluster.length;
    if (known.length >= this.startup.length - listed) this.startup.splice(listed, Infinity, ...known);
  }
}

const addressOf = ({ options }: Redis): string => `${options.host}:${options.port}`;
