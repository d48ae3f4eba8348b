import { inSlices } from '../../common/slices.js';
import { newChannel, within, type Channel } from './cluster-channel.js';
import { isMoved } from './server-identity.js';
import { ShardSubscriber, type ShardSubscriberObserver, type Listening } from './shard-subscriber.js';
import type { ClusterNode, ClusterNodes } from './cluster-nodes.js';
import { ClusterDoubts } from './cluster-doubts.js';
import { UNSEEN, type Subscription } from './subscription.js';

/** Delay in ms before the first retry of a subscription that failed, and the longest delay after several failures. */
const FIRST_RETRY = 50;
const LAST_RETRY = 500;
/** How often, in ms, unused channels are looked for. */
const SWEEP = 1_000;

/** Receives the messages, and changes of the subscriptions. */
export interface ListenerObserver {
  /** `from`: as for `ConnectionObserver`. */
  message(message: string, from: string | undefined, channel: string): void;
  /** A channel in a slot is subscribed to, later than `subscribeTo` allowed. */
  placedLate(channel: string): void;
  /** Messages may be missed from now on. */
  lost(): void;
  /**
   * Channels that were lost are subscribed to again: those with these names, or any of them after the end of a connection.
   * Also called for the client's own channel when it is subscribed to for the first time.
   */
  restored(names?: ReadonlySet<string>): void;
  failed(error: Error): void;
}

/**
 * Subscribes to a client's channels in a Cluster. One channel is on the bus, always. There is one more for each hash
 * tag in which a caller waits, at the master that serves its slot. When a slot moves, its channels follow it. When a
 * connection ends, its channels are subscribed to again at the masters that serve their slots by then. A channel is kept
 * for some time after the last request, so that a busy one is not subscribed to each time.
 */
export class ClusterListener implements ShardSubscriberObserver {
  private readonly lines = new Map<string, ShardSubscriber>();
  private readonly channels = new Map<string, Channel>();
  private readonly bus: Channel;
  private readonly doubts: ClusterDoubts;
  private sweeper: NodeJS.Timeout | undefined;
  private telling: NodeJS.Immediate | undefined;
  /** The channels that are subscribed to again and have not been reported yet. */
  private restored = new Set<string>();
  /** Whether a connection has ended, and no channel has been reported since. */
  private wasCut = false;
  private closed = false;

  constructor(
    private readonly nodes: ClusterNodes,
    busChannel: string,
    /** Whether channels in slots are sharded. If left out, they are if the server supports that. */
    private readonly isSharded: (() => boolean) | undefined,
    private readonly observer: ListenerObserver,
  ) {
    this.bus = newChannel(busChannel, false, Infinity);
    this.doubts = new ClusterDoubts(nodes, {
      departed: (channel) => this.depart([channel]),
      settled: (channel) => this.tellRestored(channel),
    });
  }

  /** Whether the client is subscribed to its own channel. */
  get listening(): boolean {
    return this.bus.listening !== undefined;
  }

  /** Whether all subscriptions that are due stand, and none is in doubt. */
  get fullySubscribed(): boolean {
    const isMissed = ({ wasHeard, attempts, listening }: Channel): boolean =>
      listening === undefined && (wasHeard || attempts > 0);
    return this.listening && ![...this.channels.values()].some(isMissed) && !this.doubts.isPending;
  }

  /** Whether all channels are subscribed to. */
  get isWhole(): boolean {
    return [...this.channels.values()].every(({ listening }) => listening !== undefined);
  }

  open(): void {
    if (this.channels.has(this.bus.name)) return;
    this.channels.set(this.bus.name, this.bus);
    void this.place(this.bus);
  }

  close(): void {
    this.closed = true;
    clearInterval(this.sweeper);
    clearImmediate(this.telling);
    this.channels.clear();
    for (const line of [...this.lines.values()]) line.end();
    this.doubts.close();
  }

  /** The subscription to a channel in a slot, at the node that serves the slot. It is kept for at least `patience` ms. */
  subscription(name: string, patience: number): Subscription | undefined {
    const channel = this.channels.get(name);
    if (channel === undefined) return undefined;
    channel.until = Math.max(channel.until, performance.now() + patience);
    return this.isHeard(channel) ? (channel.subscription ?? UNSEEN) : undefined;
  }

  /**
   * Subscribes to a channel in a slot, for at least `patience` ms. Resolves to whether that succeeded within `limit`
   * ms.
   */
  async subscribeTo(name: string, patience: number, limit: number): Promise<boolean> {
    if (this.closed) return false;
    if (this.subscription(name, patience) !== undefined) return true;
    let channel = this.channels.get(name);
    if (channel === undefined) {
      channel = newChannel(name, true, performance.now() + patience);
      this.channels.set(name, channel);
      this.sweeper ??= setInterval(() => this.sweep(), SWEEP).unref();
      void this.place(channel);
    }
    const isHeard = await within(channel.waiting, limit);
    if (!isHeard) channel.isLate = true;
    return isHeard;
  }

  /** Slots may have moved. A node that is frozen or cut off does not report that it has lost some. */
  follow(): void {
    for (const line of [...this.lines.values()]) if (!this.nodes.has(line.node)) line.end();
    const strayed = [...this.channels.values()].filter(
      ({ line, listening, slot }) =>
        listening === 'sharded' && line !== undefined && !line.isOver && this.nodes.hasLeft(slot!, line.node),
    );
    this.depart(strayed);
  }

  // Callbacks of the shard subscribers.

  message(line: ShardSubscriber, message: string, how: Listening, channel: string): void {
    const isSharded = how === 'sharded';
    const pass = (): void => this.observer.message(message, isSharded ? line.id : undefined, channel);
    const confirmed = isSharded ? this.nodes.confirmAt(line.node, channel) : undefined;
    if (confirmed === undefined) return pass();
    void confirmed.then((isMaster) => {
      if (line.isOver) return;
      if (isMaster) pass();
      // The waiters of the channel ask the new master.
      else this.departed(line, [channel]);
    });
  }

  departed(line: ShardSubscriber, names: readonly string[]): void {
    const channels = names.map((name) => this.channels.get(name));
    this.depart(channels.filter((channel) => channel !== undefined && channel.line === line) as Channel[]);
  }

  ended(line: ShardSubscriber, error: Error | undefined): void {
    if (this.lines.get(line.node) === line) this.lines.delete(line.node);
    this.doubts.drop(line.node);
    if (this.closed) return;
    const lost = [...this.channels.values()].filter((channel) => channel.line === line);
    if (lost.length === 0) return;
    if (error !== undefined) this.observer.failed(error);
    this.wasCut = true;
    this.observer.lost();
    for (const channel of lost) {
      channel.line = undefined;
      // `place` finds out by itself that the connection has ended.
      if (channel.listening === undefined) continue;
      channel.listening = undefined;
      channel.subscription = undefined;
      void this.placeLater(channel);
    }
  }

  /** The slots of these channels have moved. The other channels of the same connections stay where they are. */
  private depart(channels: readonly Channel[]): void {
    if (channels.length === 0 || this.closed) return;
    this.observer.lost();
    const lines = new Set<ShardSubscriber>();
    for (const channel of channels) {
      const line = channel.line!;
      lines.add(line);
      channel.line = undefined;
      channel.listening = undefined;
      channel.subscription = undefined;
      // Mostly a command has found the new master first.
      void (this.nodes.hasLeft(channel.slot!, line.node) ? this.place(channel) : this.placeLater(channel));
    }
    for (const line of lines) if (!this.isUsed(line)) line.end();
  }

  /** A server without sharded pub/sub publishes all messages on the bus. */
  private isHeard({ listening }: Channel): boolean {
    return listening === 'sharded' || (listening === 'unsharded' && this.listening);
  }

  private isWanted(channel: Channel): boolean {
    return this.channels.get(channel.name) === channel;
  }

  private async place(channel: Channel): Promise<void> {
    const node = this.nodeOf(channel);
    if (node === undefined) return this.placeLater(channel);
    let line = this.lines.get(node.address);
    if (line === undefined) {
      line = new ShardSubscriber(
        node.address,
        (observer) => this.nodes.target.lines.open(observer, node.at),
        this,
        () => this.nodes.ping(node.address),
      );
      this.lines.set(node.address, line);
    }
    channel.line = line;
    try {
      const isSharded = channel.slot !== undefined && this.isSharded?.() !== false;
      const how = isSharded ? await line.subscribeInSlot(channel.name) : await line.subscribe(channel.name);
      if (line.isOver) return await this.placeLater(channel);
      channel.listening = how ?? 'unsharded';
      channel.subscription = how === 'sharded' ? this.doubts.subscription(channel, line) : undefined;
    } catch (error) {
      // The end of the connection has been reported already, and a slot that has moved is no failure.
      if (!line.isOver && !isMoved(error)) this.observer.failed(error as Error);
      return this.placeLater(channel);
    }
    if (this.isWanted(channel)) return this.placed(channel);
    this.leave(line, channel.name);
    if (!this.isUsed(line)) line.end();
  }

  private nodeOf({ slot }: Channel): ClusterNode | undefined {
    return slot === undefined ? this.nodes.any() : this.nodes.ownerOf(slot);
  }

  private async placeLater(channel: Channel): Promise<void> {
    channel.line = undefined;
    const delay = Math.min(FIRST_RETRY * 2 ** channel.attempts, LAST_RETRY);
    channel.attempts += 1;
    // The first retry is immediate, because another node is usually known by then.
    if (channel.attempts > 1) await new Promise((resolve) => setTimeout(resolve, delay).unref());
    if (!this.closed && this.isWanted(channel)) await this.nodes.refresh();
    if (!this.closed && this.isWanted(channel)) await this.place(channel);
  }

  private placed(channel: Channel): void {
    // Callers that waited longer than their limit got `false`, so they have to be notified.
    if (channel.wasHeard || channel.attempts > 0 || channel.slot === undefined) this.tellRestored(channel);
    channel.wasHeard = true;
    channel.attempts = 0;
    for (const tell of [...channel.waiting]) tell(this.isHeard(channel));
    if (channel.isLate) this.observer.placedLate(channel.name);
    channel.isLate = false;
  }

  /**
   * Reports once for all channels that are subscribed to again at the same time. After the end of a connection, the first
   * report is about everything, and the later ones are about their channels.
   */
  private tellRestored({ name, slot }: Channel): void {
    this.wasCut ||= slot === undefined;
    this.restored.add(name);
    this.telling ??= setImmediate(() => {
      const { restored, wasCut } = this;
      this.telling = undefined;
      this.restored = new Set();
      this.wasCut = false;
      this.observer.restored(wasCut ? undefined : restored);
    });
  }

  private sweep(): void {
    const now = performance.now();
    const unused = [...this.channels.values()].filter(({ until }) => until < now);
    if (unused.length === 0) return;
    for (const { name } of unused) this.channels.delete(name);
    const used = new Set([...this.channels.values()].map(({ line }) => line));
    for (const line of [...this.lines.values()]) if (!used.has(line)) line.end();
    void inSlices(unused, ({ name, line, listening }) => {
      // A channel that is being placed is left at the end of `place`.
      if (line !== undefined && listening !== undefined) this.leave(line, name);
    });
  }

  private leave(line: ShardSubscriber, name: string): void {
    // A caller may need the channel again by now, on the same connection.
    if (!line.isOver && !this.channels.has(name)) line.unsubscribe(name, this.isSharded?.() !== false);
  }

  /** Whether a channel is on this connection. */
  private isUsed(line: ShardSubscriber): boolean {
    for (const channel of this.channels.values()) if (channel.line === line) return true;
    return false;
  }
}
