import type { LockLogger } from '../../common/logger.js';
import { busChannel, groupBySlot, hashSlot, shardChannel } from '../../keys/index.js';
import { ClusterListener } from './cluster-listener.js';
import { ClusterNodes, type ClusterTarget } from './cluster-nodes.js';
import { ClusterReplicas } from './cluster-replicas.js';
import { ClusterRouter } from './cluster-router.js';
import { ConnectionHealth } from './connection-health.js';
import {
  doubtUntilListening,
  type Connection,
  type ConnectionObserver,
  type ConnectionOptions,
  type Masters,
} from './connection.js';
import type { ScannedNode } from './key-scan.js';
import type { Subscription } from './subscription.js';

export interface ClusterConnectionOptions extends ConnectionOptions {
  readonly target: ClusterTarget;
}

/** What can fail besides a single node: the subscriptions, or all nodes together. */
const LINES = 'lines';
const ALL = 'all';

/**
 * The connections of one client to a Redis Cluster: one to each master for commands, which are sent to the master of their
 * slot, and shard subscribers, which receive the messages.
 */
export class ClusterConnection implements Connection {
  readonly commands: ClusterRouter;
  /** There are several. */
  readonly address = undefined;
  readonly replicas: ClusterReplicas;
  readonly health: ConnectionHealth;
  epoch = 0;

  private readonly slotMap: ClusterNodes;
  private readonly listener: ClusterListener;
  /** The nodes that could not be reached and still belong to the Cluster. */
  private readonly failing = new Set<string>();
  private lost = false;
  private closed = false;

  constructor(
    private readonly options: ClusterConnectionOptions,
    logger: LockLogger,
    private readonly observer: ConnectionObserver,
  ) {
    const { target, keyPrefix, clientId, commandTimeout } = options;
    this.health = new ConnectionHealth(logger, commandTimeout);
    this.slotMap = new ClusterNodes(target, {
      refreshed: () => this.refreshed(),
      unreachable: (error) => {
        this.health.down();
        this.interrupted();
        this.failed(error, ALL);
      },
      ready: (address) => this.resumed(address),
      ended: (address, error) => {
        // A node may have executed a command before its connection broke. The command is sent again.
        this.interrupted();
        if (error !== undefined) this.failed(error, address);
        this.observer.nodeLost?.((name) => this.slotMap.isOwner(address, hashSlot(name)));
      },
      replaced: (served, refreshed) => {
        this.epoch += 1;
        void refreshed.then(() => observer.nodeLost?.((name) => served.has(hashSlot(name))));
      },
      unconfirmed: () => (this.epoch += 1),
    });
    this.commands = new ClusterRouter(this.slotMap, commandTimeout);
    this.replicas = new ClusterReplicas(this.slotMap, commandTimeout, () => this.doubt());
    const bus = busChannel(keyPrefix, clientId);
    this.listener = new ClusterListener(this.slotMap, bus, options.isSharded, {
      message: (message, from, channel) => {
        if (options.keyChannel !== undefined && channel !== bus) observer.keyMessage?.(channel, message);
        else observer.message(message, from);
      },
      placedLate: (channel) => observer.keySubscribed?.(channel),
      lost: () => (this.epoch += 1),
      restored: (names) => {
        if (this.listener.isWhole) this.recovered(LINES);
        observer.subscribed(names && ((key) => names.has(this.channelOf(key))));
      },
      failed: (error) => this.failed(error, LINES),
    });
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

  get subscriptionError(): Error | undefined {
    return this.listening ? undefined : this.health.lastError;
  }

  open(): void {
    this.slotMap.open();
    // The first node that is asked, or the node to subscribe to, may be frozen.
    doubtUntilListening(this, () => this.closed);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.listener.close();
    this.replicas.close();
    this.slotMap.close();
  }

  /** A node that is frozen or cut off cannot report that it has lost its slots. The other nodes can. */
  doubt(): void {
    if (!this.closed) void this.slotMap.examine();
  }

  replyAddress(key: string): string {
    return `${shardChannel(this.options.keyPrefix, key, '')}\n${key}`;
  }

  subscription(key: string, patience: number): Subscription | undefined {
    return this.listener.subscription(this.channelOf(key), patience);
  }

  subscribeTo(key: string, patience: number, limit: number): Promise<boolean> {
    return this.listener.subscribeTo(this.channelOf(key), patience, limit);
  }

  nodes(): ScannedNode[] {
    return this.slotMap.masters;
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

  private refreshed(): void {
    this.health.up();
    this.listener.open();
    this.listener.follow();
    this.replicas.follow();
    // A node that has left the Cluster need not recover.
    for (const address of this.failing) {
      if (address !== LINES && address !== ALL && !this.slotMap.has(address)) this.recovered(address);
    }
    this.resumed(ALL);
  }

  private interrupted(): void {
    this.lost = true;
    this.epoch += 1;
  }

  private resumed(address: string): void {
    this.recovered(address);
    if (!this.lost || !this.slotMap.isKnown) return;
    this.lost = false;
    this.observer.reconnected();
  }

  private failed(error: Error, address: string): void {
    this.failing.add(address);
    this.health.failed(error);
  }

  /** The outage is over when all nodes are connected again. */
  private recovered(address: string): void {
    this.failing.delete(address);
    if (this.failing.size === 0 && this.slotMap.isKnown && this.listening) this.health.recovered();
  }
}
