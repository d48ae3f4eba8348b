import { clearReadingTimer, setReadingTimer } from '../../common/reading-timer.js';
import type { Channel } from './cluster-channel.js';
import type { ClusterNodes } from './cluster-nodes.js';
import { isMoved } from './server-identity.js';
import type { ShardSubscriber } from './shard-subscriber.js';
import { Doubts, type Subscription } from './subscription.js';

/** For how many ms a connection in doubt may delay its answer. */
const ANSWERS_WITHIN = 250;
/** After how many ms the waiters of a channel ask whether the doubt is still there. */
const SETTLES_WITHIN = 500;

/** Receives what a doubt has led to, unless the connection has ended. */
export interface ClusterDoubtsObserver {
  /** The slot of the channel has moved. */
  departed(channel: Channel): void;
  /** The connection works. The waiters of the channel have to ask, because messages may have been missed. */
  settled(channel: Channel): void;
}

/**
 * Handles doubts about the subscriptions in a Cluster. While a slot moves, its new master executes scripts before the
 * subscriptions follow, and sees no subscriber. That says nothing about the connection to the old master, which may carry
 * thousands of channels. So the first doubt about a subscription subscribes once more, on the same connection. The
 * connection ends if it does not answer, or if another reply raises the same doubt later.
 */
export class ClusterDoubts {
  /** The doubts about the connection to each node. They end with that connection. */
  private readonly nodesInDoubt = new Map<string, Doubts>();

  constructor(
    private readonly nodes: ClusterNodes,
    private readonly observer: ClusterDoubtsObserver,
  ) {}

  get isPending(): boolean {
    return [...this.nodesInDoubt.values()].some(({ isPending }) => isPending);
  }

  /** The subscription to a channel in a slot that the server has just confirmed. */
  subscription(channel: Channel, line: ShardSubscriber): Subscription {
    let ignoredUntil: number | undefined;
    const subscription: Subscription = {
      since: performance.now(),
      doubt: (why) => {
        if (line.isOver || channel.subscription !== subscription) return;
        if (this.nodes.hasLeft(channel.slot!, line.node)) return this.observer.departed(channel);
        const now = performance.now();
        if (ignoredUntil === undefined) void this.probe(channel, line, why);
        else if (now >= ignoredUntil) this.raise(channel, line, why);
        ignoredUntil ??= now + SETTLES_WITHIN;
      },
    };
    return subscription;
  }

  /** The connection to a node has ended. */
  drop(node: string): void {
    this.nodesInDoubt.get(node)?.drop();
  }

  close(): void {
    for (const doubts of this.nodesInDoubt.values()) doubts.drop();
  }

  private async probe(channel: Channel, line: ShardSubscriber, why: string): Promise<void> {
    const { subscription } = channel;
    const isPast = (): boolean => line.isOver || channel.subscription !== subscription;
    const timer = setReadingTimer(ANSWERS_WITHIN, () => {
      if (!isPast()) this.raise(channel, line, why);
    });
    try {
      await line.subscribeInSlot(channel.name);
      setReadingTimer(SETTLES_WITHIN, () => {
        if (!isPast()) this.observer.settled(channel);
      });
    } catch (error) {
      if (isPast()) return;
      if (isMoved(error)) this.observer.departed(channel);
      else this.raise(channel, line, why);
    } finally {
      clearReadingTimer(timer);
    }
  }

  private raise({ slot }: Channel, line: ShardSubscriber, why: string): void {
    const doubts = this.nodesInDoubt.get(line.node) ?? new Doubts();
    this.nodesInDoubt.set(line.node, doubts);
    doubts.raise(() => {
      // If the slot has moved, nothing has failed: the channel follows it.
      line.end(this.nodes.hasLeft(slot!, line.node) ? undefined : new Error(`${line.node}: ${why}`));
    });
  }
}
