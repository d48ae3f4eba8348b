import { outside } from '../../common/async-context.js';
import { pause, setReadingTimer, settlesWithin } from '../../common/reading-timer.js';
import { inSlices } from '../../common/slices.js';
import { hashSlot } from '../../keys/index.js';
import { isMoved } from './server-identity.js';
import type { Server, Servers } from './servers.js';
import { lacksCommand } from './store-failure.js';
import { Subscriber, type SubscriberObserver } from './subscriber.js';
import { Doubts, UNSEEN, type Subscription } from './subscription.js';

/** Delay in ms before the first retry of a subscription that failed, and the longest delay after several failures. */
const FIRST_RETRY = 50;
const LAST_RETRY = 500;
/** How often, in ms, unused channels are looked for. */
const SWEEP = 1_000;
/** How many ms after a doubt the channel of a key is subscribed to again: its slot may be moving. */
const SETTLES_WITHIN = 500;

/** A channel to which the client subscribes. */
class Channel {
  /** The connection on which the client is subscribed, or is subscribing. */
  line: Subscriber | undefined;
  /** Set when the server has confirmed the subscription, cleared when the connection ends or the slot moves. */
  subscription: Subscription | undefined;
  /** Nothing has been expected of the channel yet: it has not been subscribed to, and no attempt has failed. */
  isNew = true;
  attempts = 0;
  /** Callers that wait for the subscription. */
  readonly waiting = new Set<() => void>();

  constructor(
    readonly name: string,
    /** The slot of a key; `undefined` for the client's own channel, which is at any server. */
    readonly slot: number | undefined,
    /** Until when the channel is needed, by `performance.now()`. */
    public until: number,
  ) {}
}

/** Receives the messages, and changes of the subscriptions. */
export interface ListenerObserver {
  /** `from`: as for `ConnectionObserver`. */
  message(message: string, from: string | undefined, channel: string): void;
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
 * Subscribes to a client's channels: its own, always, and those of keys for which a caller waits, at the server of their
 * slot. When a slot moves, its channels follow it. When a connection ends, its channels are subscribed to again at the servers
 * that serve them by then. A channel is kept for some time after the last request, so that a busy one is not subscribed to
 * each time.
 *
 * A doubt about the client's own channel replaces its connection. A doubt about the channel of a key subscribes to this channel
 * again: while a slot moves, its new master executes scripts before the subscriptions follow, and sees no subscriber. That says
 * nothing about the connection to the old master, which may carry thousands of channels. If it is dead, its heartbeat shows that.
 */
export class Listener implements SubscriberObserver {
  private readonly lines = new Map<Server, Subscriber>();
  private readonly channels = new Map<string, Channel>();
  private readonly doubts = new Doubts();
  private readonly own: Channel;
  private sweeper: NodeJS.Timeout | undefined;
  private telling: NodeJS.Immediate | undefined;
  /** The channels that are subscribed to again and have not been reported yet. */
  private restored = new Set<string>();
  /** Whether a connection has ended, and no channel has been reported since. */
  private wasCut = false;
  private closed = false;

  constructor(
    private readonly servers: Servers,
    ownChannel: string,
    /** Whether channels of keys are sharded in a Cluster. If left out, they are if the server supports that. */
    private readonly isSharded: (() => boolean) | undefined,
    private readonly observer: ListenerObserver,
  ) {
    this.own = new Channel(ownChannel, undefined, Infinity);
  }

  /** Whether the subscription to the client's own channel is confirmed and its connection has not been lost since. */
  get listening(): boolean {
    return this.own.subscription !== undefined;
  }

  /** Whether all subscriptions that are due stand, and none is in doubt. */
  get fullySubscribed(): boolean {
    if (!this.listening) return false;
    for (const { isNew, subscription } of this.channels.values())
      if (!isNew && subscription === undefined) return false;
    return !this.doubts.isPending;
  }

  open(): void {
    if (this.closed || this.channels.has(this.own.name)) return;
    this.channels.set(this.own.name, this.own);
    void this.place(this.own);
  }

  close(): void {
    this.closed = true;
    clearInterval(this.sweeper);
    clearImmediate(this.telling);
    this.channels.clear();
    this.own.subscription = undefined;
    for (const line of [...this.lines.values()]) line.end();
  }

  /**
   * The subscription to a channel; `undefined`: there is none. It is kept for at least `patience` ms. The client's own channel
   * has no name here.
   */
  subscription(name: string | undefined, patience: number): Subscription | undefined {
    if (name === undefined) return this.own.subscription;
    const channel = this.channels.get(name);
    if (channel === undefined) return undefined;
    channel.until = Math.max(channel.until, performance.now() + patience);
    // Messages that the server does not count the subscribers of come on the client's own channel.
    return channel.subscription === UNSEEN && !this.listening ? undefined : channel.subscription;
  }

  /**
   * Subscribes to the channel of a key, for at least `patience` ms. Resolves to whether that succeeded within `limit` ms. If a
   * failure delays it further, `restored` is called in the end. The client's own channel is already being subscribed to.
   */
  async subscribeTo(name: string | undefined, patience: number, limit: number): Promise<boolean> {
    if (name === undefined) return this.listening;
    if (this.closed) return false;
    if (this.subscription(name, patience) !== undefined) return true;
    let channel = this.channels.get(name);
    if (channel === undefined) {
      channel = new Channel(name, hashSlot(name), performance.now() + patience);
      this.channels.set(name, channel);
      this.sweeper ??= outside(() => setInterval(() => this.sweep(), SWEEP).unref());
      void this.place(channel);
    }
    const { waiting } = channel;
    let over!: () => void;
    const placed = new Promise<void>((resolve) => waiting.add((over = resolve)));
    await settlesWithin(limit, placed);
    waiting.delete(over);
    return this.subscription(name, patience) !== undefined;
  }

  /** Servers may have changed, or slots moved. A server that is frozen or cut off does not report that itself. */
  follow(): void {
    const { known } = this.servers;
    for (const [server, line] of [...this.lines]) if (!known.includes(server)) line.end();
    const strayed = [...this.channels.values()].filter(
      ({ line, subscription, slot }) =>
        line !== undefined && isSeen(subscription) && this.servers.hasLeft(slot, line.server),
    );
    this.depart(strayed);
  }

  // Callbacks of the subscribers.

  message(line: Subscriber, message: string, isSharded: boolean, channel: string): void {
    // Only the server of a key can be asked whether it is still that.
    const isOfServer = isSharded || !this.servers.isCluster;
    const { line: subscribed, subscription } = this.channels.get(channel) ?? {};
    if (subscribed === line && isSeen(subscription)) subscription.heardAt = performance.now();
    const pass = (): void => this.observer.message(message, isOfServer ? line.id : undefined, channel);
    const confirmed = isOfServer ? this.servers.masters?.confirm(channel, line.server.address) : undefined;
    if (confirmed === undefined) return pass();
    void confirmed.then((isMaster) => {
      if (line.isOver) return;
      if (isMaster) pass();
      // The waiters of the channel ask the new master.
      else this.departed(line, [channel]);
    });
  }

  departed(line: Subscriber, names: readonly string[]): void {
    const channels = names.map((name) => this.channels.get(name));
    this.depart(channels.filter((channel) => channel !== undefined && channel.line === line) as Channel[]);
  }

  ended(line: Subscriber, error: Error | undefined): void {
    if (line === this.own.line) this.doubts.drop();
    if (this.lines.get(line.server) === line) this.lines.delete(line.server);
    if (this.closed) return;
    const lost = [...this.channels.values()].filter((channel) => channel.line === line);
    if (lost.length === 0) return;
    if (error !== undefined) this.observer.failed(error);
    this.wasCut = true;
    this.observer.lost();
    for (const channel of lost) void this.placeLater(channel);
  }

  /** The slots of these channels have moved. The other channels of the same connections stay where they are. */
  private depart(channels: readonly Channel[]): void {
    if (channels.length === 0 || this.closed) return;
    this.observer.lost();
    for (const channel of channels) {
      // Mostly a command has found the new master first.
      void (this.servers.hasLeft(channel.slot, channel.line!.server) ? this.place(channel) : this.placeLater(channel));
    }
    this.endUnused();
  }

  private isWanted(channel: Channel): boolean {
    return this.channels.get(channel.name) === channel;
  }

  private async place(channel: Channel): Promise<void> {
    const server = this.servers.of(channel.slot);
    if (server === undefined) return this.placeLater(channel);
    let line = this.lines.get(server);
    if (line === undefined) this.lines.set(server, (line = new Subscriber(server, this.servers, this)));
    channel.line = line;
    channel.subscription = undefined;
    try {
      const subscription = await this.subscribe(channel, line);
      // The connection has ended, or the slot has moved: the channel is being subscribed to again.
      if (channel.line !== line || line.isOver) return;
      channel.subscription = subscription;
    } catch (error) {
      if (channel.line !== line || line.isOver) return;
      // A slot that has moved is no failure.
      if (!isMoved(error)) this.observer.failed(error as Error);
      return this.placeLater(channel);
    }
    if (this.isWanted(channel)) return this.placed(channel);
    this.leave(line, channel);
    this.endUnused();
  }

  private isInSlot({ slot }: Channel): boolean {
    return this.servers.isCluster && slot !== undefined && this.isSharded?.() !== false;
  }

  private async subscribe(channel: Channel, line: Subscriber): Promise<Subscription> {
    try {
      await line.subscribe(channel.name, this.isInSlot(channel));
    } catch (error) {
      // Redis before 7 publishes all messages on the bus.
      if (this.isInSlot(channel) && lacksCommand(error)) return UNSEEN;
      throw error;
    }
    if (this.servers.isCluster && !this.isInSlot(channel)) return UNSEEN;
    let isDoubted = false;
    const subscription: Subscription = {
      since: performance.now(),
      heardAt: -Infinity,
      doubt: (why) => {
        if (isDoubted || line.isOver || channel.subscription !== subscription) return;
        isDoubted = true;
        if (channel.slot === undefined) return this.doubts.raise(() => line.end(new Error(why)));
        const delay = this.servers.hasLeft(channel.slot, line.server) ? 0 : SETTLES_WITHIN;
        setReadingTimer(delay, () => {
          if (this.isWanted(channel) && channel.subscription === subscription) this.depart([channel]);
        });
      },
    };
    return subscription;
  }

  private async placeLater(channel: Channel): Promise<void> {
    channel.line = undefined;
    channel.subscription = undefined;
    channel.isNew = false;
    const delay = Math.min(FIRST_RETRY * 2 ** channel.attempts, LAST_RETRY);
    channel.attempts += 1;
    // The first retry is immediate, because another server is usually known by then.
    if (channel.attempts > 1) await pause(delay);
    if (!this.closed && this.isWanted(channel)) await this.servers.refresh();
    if (!this.closed && this.isWanted(channel)) await this.place(channel);
  }

  private placed(channel: Channel): void {
    // Callers that waited longer than their limit got `false`, so they have to be notified.
    if (!channel.isNew || channel.slot === undefined) this.tellRestored(channel);
    channel.isNew = false;
    channel.attempts = 0;
    for (const over of channel.waiting) over();
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
    this.endUnused();
    void inSlices(unused, (channel) => {
      const { line, subscription } = channel;
      // A channel that is being placed is left at the end of `place`.
      if (line !== undefined && subscription !== undefined) this.leave(line, channel);
    });
  }

  private leave(line: Subscriber, channel: Channel): void {
    // A caller may need the channel again by now, on the same connection.
    if (!line.isOver && !this.channels.has(channel.name)) line.unsubscribe(channel.name, this.isInSlot(channel));
  }

  /** Ends the connections on which no channel is left. */
  private endUnused(): void {
    const used = new Set([...this.channels.values()].map(({ line }) => line));
    for (const line of [...this.lines.values()]) if (!used.has(line)) line.end();
  }
}

/** Whether the server sees the subscriber. */
const isSeen = (subscription: Subscription | undefined): subscription is Subscription =>
  subscription !== undefined && subscription !== UNSEEN;
