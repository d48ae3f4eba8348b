import { outside } from '../../common/outside.js';
import type { ConnectionObserver } from './connection.js';
import type { LastingLine } from './lasting-line.js';

/** How often, in ms, unused channels are looked for. */
const SWEEP = 1_000;

/** The channel of a key. */
interface KeyChannel {
  readonly name: string;
  /** Until when the channel is needed, by `performance.now()`. */
  until: number;
  /** Whether the server has confirmed the subscription, on the connection that stands. */
  heard: boolean;
  /** The subscription that is under way. */
  pending: Promise<void> | undefined;
  /** A caller has waited for the subscription without success. */
  isLate: boolean;
}

/**
 * The channels of single keys on the subscriber connection to one server, for a protocol whose messages name no client.
 * A channel is kept for some time after the last request, so that a busy one is not subscribed to each time.
 */
export class KeyChannels {
  private readonly channels = new Map<string, KeyChannel>();
  private sweeper: NodeJS.Timeout | undefined;
  /** Grows with each connection. A confirmation from an earlier one does not count. */
  private connection = 0;

  constructor(
    private readonly subscriber: LastingLine,
    private readonly channelOf: (key: string) => string,
    private readonly observer: Pick<ConnectionObserver, 'keySubscribed'>,
    private readonly failed: (error: Error) => void,
  ) {}

  /** Whether all subscriptions that are due stand. */
  get isWhole(): boolean {
    return [...this.channels.values()].every(({ heard }) => heard);
  }

  has(name: string): boolean {
    return this.channels.has(name);
  }

  /** Whether the channel of a key is subscribed to now. If so, the subscription is kept for at least `patience` ms. */
  isSubscribed(key: string, patience: number): boolean {
    const channel = this.channels.get(this.channelOf(key));
    if (channel === undefined) return false;
    channel.until = Math.max(channel.until, performance.now() + patience);
    return channel.heard;
  }

  /** Subscribes for at least `patience` ms. Resolves to whether that succeeded within `limit` ms. */
  async subscribeTo(key: string, patience: number, limit: number): Promise<boolean> {
    if (this.isSubscribed(key, patience)) return true;
    const name = this.channelOf(key);
    const known = this.channels.get(name);
    const channel = known ?? {
      name,
      until: performance.now() + patience,
      heard: false,
      pending: undefined,
      isLate: false,
    };
    this.channels.set(name, channel);
    this.sweeper ??= outside(() => setInterval(() => this.sweep(), SWEEP).unref());
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([
      this.place(channel),
      new Promise<void>((resolve) => (timer = setTimeout(() => setImmediate(resolve), limit).unref())),
    ]);
    clearTimeout(timer);
    if (!channel.heard) channel.isLate = true;
    return channel.heard;
  }

  /** A connection stands: subscribes to all channels again. */
  async resume(): Promise<void> {
    await Promise.all([...this.channels.values()].map((channel) => this.place(channel)));
  }

  /** The connection has ended. */
  interrupted(): void {
    this.connection += 1;
    for (const channel of this.channels.values()) {
      channel.heard = false;
      channel.pending = undefined;
    }
  }

  close(): void {
    this.interrupted();
    this.channels.clear();
    clearInterval(this.sweeper);
  }

  private place(channel: KeyChannel): Promise<void> {
    const { connection } = this;
    channel.pending ??= this.subscriber.subscribe(channel.name).then(
      () => {
        if (connection !== this.connection) return;
        channel.heard = true;
        channel.pending = undefined;
        if (channel.isLate) this.observer.keySubscribed?.(channel.name);
        channel.isLate = false;
      },
      (error: Error) => {
        if (connection !== this.connection) return;
        // The next request tries again.
        channel.pending = undefined;
        this.failed(error);
      },
    );
    return channel.pending;
  }

  private sweep(): void {
    const now = performance.now();
    for (const channel of [...this.channels.values()]) {
      if (channel.until > now || channel.pending !== undefined) continue;
      this.channels.delete(channel.name);
      if (channel.heard) this.subscriber.line?.unsubscribe(channel.name, false);
    }
    if (this.channels.size > 0) return;
    clearInterval(this.sweeper);
    this.sweeper = undefined;
  }
}
