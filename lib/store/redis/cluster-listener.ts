import { ShardSubscriber, type ShardSubscriberObserver, type Listening } from './shard-subscriber.js';
import type { ClusterNodes } from './cluster-nodes.js';
import { Doubts, type Subscription } from './subscription.js';

/** Delay in ms before the first retry of a subscription that failed, and the longest delay after several failures. */
const FIRST_RETRY = 50;
const LAST_RETRY = 500;
/** How often, in ms, unused channels are looked for. */
const SWEEP = 1_000;

const MOVED = /^MOVED /;

/** Receives the messages, and changes of the subscriptions. */
export interface ListenerObserver {
  message(message: string, how: Listening, channel: string): void;
  /** A channel in a slot is subscribed to, later than `subscribeTo` allowed. */
  placedLate(channel: string): void;
  /** Messages may be missed from now on. */
  lost(): void;
  /** A channel that was lost is subscribed to again, or the client's own channel for the first time. */
  restored(): void;
  failed(error: Error): void;
}

/** A channel to which the client subscribes. */
interface Channel {
  readonly name: string;
  /** Whether the channel belongs to a slot. Otherwise it is on the cluster bus, which every node carries. */
  readonly inSlot: boolean;
  /** Until when the channel is needed, by `performance.now()`. */
  until: number;
  line: ShardSubscriber | undefined;
  /**
   * How the client is subscribed. Set when the server has confirmed the subscription, cleared when the connection ends.
   */
  listening: Listening | undefined;
  /** The same subscription, if the server sees the subscribers of this channel. */
  subscription: Subscription | undefined;
  wasHeard: boolean;
  attempts: number;
  /** A caller has waited for the subscription without success. */
  isLate: boolean;
  /** Callers that wait for the subscription. */
  readonly waiting: Set<(isHeard: boolean) => void>;
}

/**
 * Subscribes to a client's channels in a Cluster. One channel is on the bus, always. There is one more for each hash
 * tag in which a caller waits, at the master that serves its slot. When a connection ends, its channels are subscribed
 * to again at the masters that serve their slots by then. A channel is kept for some time after the last request, so
 * that a busy one is not subscribed to each time.
 */
export class ClusterListener implements ShardSubscriberObserver {
  private readonly lines = new Map<string, ShardSubscriber>();
  private readonly channels = new Map<string, Channel>();
  private readonly bus: Channel;
  /** The doubts about the connection to each node. They end with that connection. */
  private readonly doubts = new Map<string, Doubts>();
  private sweeper: NodeJS.Timeout | undefined;
  private telling: NodeJS.Immediate | undefined;
  private closed = false;

  constructor(
    private readonly nodes: ClusterNodes,
    busChannel: string,
    /** Whether channels in slots are sharded. If left out, they are if the server supports that. */
    private readonly isSharded: (() => boolean) | undefined,
    private readonly observer: ListenerObserver,
  ) {
    this.bus = newChannel(busChannel, false, Infinity);
  }

  /** Whether the client is subscribed to its own channel. */
  get listening(): boolean {
    return this.bus.listening !== undefined;
  }

  /** Whether all subscriptions that are due stand, and none is in doubt. */
  get fullySubscribed(): boolean {
    const isMissed = ({ wasHeard, attempts, listening }: Channel): boolean =>
      listening === undefined && (wasHeard || attempts > 0);
    return (
      this.listening &&
      ![...this.channels.values()].some(isMissed) &&
      ![...this.doubts.values()].some(({ isPending }) => isPending)
    );
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
    for (const doubts of this.doubts.values()) doubts.drop();
  }

  /** Whether a channel in a slot is subscribed to now. If so, the subscription is kept for at least `patience` ms. */
  isSubscribed(name: string, patience: number): boolean {
    const channel = this.channels.get(name);
    if (channel === undefined) return false;
    channel.until = Math.max(channel.until, performance.now() + patience);
    return this.isHeard(channel);
  }

  /** The subscription to a channel in a slot, at the node that serves the slot. */
  subscription(name: string): Subscription | undefined {
    return this.channels.get(name)?.subscription;
  }

  /**
   * Subscribes to a channel in a slot, for at least `patience` ms. Resolves to whether that succeeded within `limit`
   * ms.
   */
  async subscribeTo(name: string, patience: number, limit: number): Promise<boolean> {
    if (this.closed) return false;
    if (this.isSubscribed(name, patience)) return true;
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
    for (const { name, inSlot, line } of [...this.channels.values()]) {
      if (line === undefined || line.isOver) continue;
      const stays = inSlot ? this.nodes.ownerOf(name)?.address === line.node : this.nodes.has(line.node);
      if (!stays) line.end();
    }
  }

  // Callbacks of the shard subscribers.

  message(message: string, how: Listening, channel: string): void {
    this.observer.message(message, how, channel);
  }

  ended(line: ShardSubscriber, error: Error | undefined): void {
    if (this.lines.get(line.node) === line) this.lines.delete(line.node);
    this.doubts.get(line.node)?.drop();
    if (this.closed) return;
    const lost = [...this.channels.values()].filter((channel) => channel.line === line);
    if (lost.length === 0) return;
    if (error !== undefined) this.observer.failed(error);
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

  /** A server without sharded pub/sub publishes all messages on the bus. */
  private isHeard({ listening }: Channel): boolean {
    return listening === 'sharded' || (listening === 'unsharded' && this.listening);
  }

  private isWanted(channel: Channel): boolean {
    return this.channels.get(channel.name) === channel;
  }

  private async place(channel: Channel): Promise<void> {
    const node = channel.inSlot ? this.nodes.ownerOf(channel.name) : this.nodes.any();
    if (node === undefined) return this.placeLater(channel);
    let line = this.lines.get(node.address);
    if (line === undefined) {
      line = new ShardSubscriber(node.address, node.client, this, () => this.nodes.ping(node.address));
      this.lines.set(node.address, line);
    }
    channel.line = line;
    try {
      const isSharded = channel.inSlot && this.isSharded?.() !== false;
      const how = isSharded ? await line.subscribeInSlot(channel.name) : await line.subscribe(channel.name);
      if (line.isOver) return await this.placeLater(channel);
      channel.listening = how ?? 'unsharded';
      channel.subscription = how === 'sharded' ? this.subscribed(channel.name, line) : undefined;
    } catch (error) {
      // The end of the connection has been reported already, and a slot that has moved is no failure.
      if (!line.isOver && !MOVED.test((error as Error).message)) this.observer.failed(error as Error);
      return this.placeLater(channel);
    }
    if (this.isWanted(channel)) this.placed(channel);
    else this.leave(line, channel.name);
  }

  private subscribed(name: string, line: ShardSubscriber): Subscription {
    const doubt = (why: string): void => {
      if (line.isOver) return;
      const doubts = this.doubts.get(line.node) ?? new Doubts();
      this.doubts.set(line.node, doubts);
      doubts.raise(() => {
        // If the slot has moved, nothing has failed: the channel follows it.
        const isHere = this.nodes.ownerOf(name)?.address === line.node;
        line.end(isHere ? new Error(`${line.node}: ${why}`) : undefined);
      });
    };
    return { since: performance.now(), doubt };
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
    if (channel.wasHeard || channel.attempts > 0 || !channel.inSlot) this.tellRestored();
    channel.wasHeard = true;
    channel.attempts = 0;
    for (const tell of [...channel.waiting]) tell(this.isHeard(channel));
    if (channel.isLate) this.observer.placedLate(channel.name);
    channel.isLate = false;
  }

  /** Reports once for all channels that are subscribed to again at the same time. */
  private tellRestored(): void {
    this.telling ??= setImmediate(() => {
      this.telling = undefined;
      this.observer.restored();
    });
  }

  private sweep(): void {
    const now = performance.now();
    for (const channel of [...this.channels.values()]) {
      if (channel.until >= now) continue;
      this.channels.delete(channel.name);
      // A channel that is being placed is left at the end of `place`.
      if (channel.line !== undefined && channel.listening !== undefined) this.leave(channel.line, channel.name);
    }
  }

  private leave(line: ShardSubscriber, name: string): void {
    // A caller may need the channel again by now, on the same connection.
    if (line.isOver || this.channels.has(name)) return;
    if (this.isUsed(line)) line.unsubscribe(name, this.isSharded?.() !== false);
    else line.end();
  }

  /** Whether a channel is on this connection. A loop, because a sweep asks for each of very many channels. */
  private isUsed(line: ShardSubscriber): boolean {
    for (const channel of this.channels.values()) if (channel.line === line) return true;
    return false;
  }
}

/** Resolves to the first answer, or to `false` after `limit` ms. */
function within(waiting: Set<(answer: boolean) => void>, limit: number): Promise<boolean> {
  return new Promise((resolve) => {
    const answer = (isSo: boolean): void => {
      clearTimeout(timer);
      waiting.delete(answer);
      resolve(isSo);
    };
    const timer = setTimeout(() => answer(false), limit).unref();
    waiting.add(answer);
  });
}

const newChannel = (name: string, inSlot: boolean, until: number): Channel => ({
  name,
  inSlot,
  until,
  line: undefined,
  listening: undefined,
  subscription: undefined,
  wasHeard: false,
  attempts: 0,
  isLate: false,
  waiting: new Set(),
});
