import { ClusterLine, type LineObserver, type Listening } from './cluster-line.js';
import type { ClusterNodes } from './cluster-nodes.js';
import { Doubts, type Subscription } from './subscription.js';

/** How many ms after a failure a channel is tried again, and how many at most after several. */
const FIRST_RETRY = 50;
const LAST_RETRY = 500;
/** How often, in ms, those channels are looked for that nobody needs any more. */
const SWEEP = 1_000;

const MOVED = /^MOVED /;

/** Who hears of what is heard. */
export interface ListenerObserver {
  message(message: string, how: Listening): void;
  /** What was heard until now may not be heard for a while. */
  lost(): void;
  /** What was not heard though it was to be is heard now, or the client's own channel for the first time. */
  restored(): void;
  failed(error: Error): void;
}

/** A channel that somebody wants to hear. */
interface Channel {
  readonly name: string;
  /** Whether it is in a slot, or else on the bus of the Cluster, which can be heard at each of its nodes. */
  readonly inSlot: boolean;
  /** Until when it is needed, by `performance.now()`. */
  until: number;
  line: ClusterLine | undefined;
  /** How it is listened on, once the server has confirmed that, and for as long as the line stands. */
  listening: Listening | undefined;
  /** The same, where the server sees who listens. */
  subscription: Subscription | undefined;
  wasHeard: boolean;
  attempts: number;
  /** Who wants to know whether it is heard. */
  readonly waiting: Set<(isHeard: boolean) => void>;
}

/**
 * Listens on a client's channels in a Cluster: one on the bus, always, and one for each hash tag in which somebody waits,
 * at the master that has its slot. Each is followed wherever it goes: whatever ends a line, its channels are subscribed
 * to anew where their slots are by then. A channel is given up when nobody has asked for it in a while, so that one that
 * is much wanted is not subscribed to each time.
 */
export class ClusterListener implements LineObserver {
  private readonly lines = new Map<string, ClusterLine>();
  private readonly channels = new Map<string, Channel>();
  private readonly bus: Channel;
  /** Of the lines to a node, which end with the first. */
  private readonly doubts = new Map<string, Doubts>();
  private sweeper: NodeJS.Timeout | undefined;
  private telling: NodeJS.Immediate | undefined;
  private closed = false;

  constructor(
    private readonly nodes: ClusterNodes,
    busChannel: string,
    private readonly observer: ListenerObserver,
  ) {
    this.bus = newChannel(busChannel, false, Infinity);
  }

  /** Whether the client's own channel is heard. */
  get listening(): boolean {
    return this.bus.listening !== undefined;
  }

  /** Whether all that was heard, or should have been by now, is heard, as far as that is known. */
  get hearsAll(): boolean {
    const isMissed = ({ wasHeard, attempts, listening }: Channel): boolean =>
      listening === undefined && (wasHeard || attempts > 0);
    return (
      this.listening &&
      ![...this.channels.values()].some(isMissed) &&
      ![...this.doubts.values()].some(({ isPending }) => isPending)
    );
  }

  /** Whether all that is to be heard is. */
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

  /** Whether a channel in a slot is heard now; if so, it will be for `patience` ms yet. */
  hears(name: string, patience: number): boolean {
    const channel = this.channels.get(name);
    if (channel === undefined) return false;
    channel.until = Math.max(channel.until, performance.now() + patience);
    return this.isHeard(channel);
  }

  /** On which a channel in a slot is heard now, at the node that has it. */
  subscription(name: string): Subscription | undefined {
    return this.channels.get(name)?.subscription;
  }

  /** Begins to hear a channel in a slot, for `patience` ms at least; answers whether it is heard within `limit` ms. */
  async hear(name: string, patience: number, limit: number): Promise<boolean> {
    if (this.closed) return false;
    if (this.hears(name, patience)) return true;
    let channel = this.channels.get(name);
    if (channel === undefined) {
      channel = newChannel(name, true, performance.now() + patience);
      this.channels.set(name, channel);
      this.sweeper ??= setInterval(() => this.sweep(), SWEEP).unref();
      void this.place(channel);
    }
    return within(channel.waiting, limit);
  }

  /** The slots may be elsewhere now: a node that is frozen, or cut off, does not tell that it has lost some. */
  follow(): void {
    for (const { name, inSlot, line } of [...this.channels.values()]) {
      if (line === undefined || line.isOver) continue;
      const stays = inSlot ? this.nodes.ownerOf(name)?.address === line.node : this.nodes.has(line.node);
      if (!stays) line.end();
    }
  }

  // What a line tells.

  message(message: string, how: Listening): void {
    this.observer.message(message, how);
  }

  ended(line: ClusterLine, error: Error | undefined): void {
    if (this.lines.get(line.node) === line) this.lines.delete(line.node);
    this.doubts.get(line.node)?.drop();
    if (this.closed) return;
    const lost = [...this.channels.values()].filter((channel) => channel.line === line);
    if (lost.length === 0) return;
    if (error !== undefined) this.observer.failed(error);
    this.observer.lost();
    for (const channel of lost) {
      channel.line = undefined;
      // One that is being placed finds out by itself.
      if (channel.listening === undefined) continue;
      channel.listening = undefined;
      channel.subscription = undefined;
      void this.placeLater(channel);
    }
  }

  /** Where a server knows no sharded pub/sub all is told over the bus. */
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
      line = new ClusterLine(node.address, node.client, this, () => this.nodes.ping(node.address));
      this.lines.set(node.address, line);
    }
    channel.line = line;
    try {
      const how = channel.inSlot ? await line.subscribeInSlot(channel.name) : await line.subscribe(channel.name);
      if (line.isOver) return await this.placeLater(channel);
      channel.listening = how ?? 'unsharded';
      channel.subscription = how === 'sharded' ? this.subscribed(channel.name, line) : undefined;
    } catch (error) {
      // Of a line that has ended it has been told already, and that a slot has moved is no failure.
      if (!line.isOver && !MOVED.test((error as Error).message)) this.observer.failed(error as Error);
      return this.placeLater(channel);
    }
    if (this.isWanted(channel)) this.placed(channel);
    else this.leave(line, channel.name);
  }

  private subscribed(name: string, line: ClusterLine): Subscription {
    const doubt = (why: string): void => {
      if (line.isOver) return;
      const doubts = this.doubts.get(line.node) ?? new Doubts();
      this.doubts.set(line.node, doubts);
      doubts.raise(() => {
        // Where the slot has moved nothing has failed: its channel follows it.
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
    // The first time at once: mostly another node is known by then.
    if (channel.attempts > 1) await new Promise((resolve) => setTimeout(resolve, delay).unref());
    if (!this.closed && this.isWanted(channel)) await this.nodes.refresh();
    if (!this.closed && this.isWanted(channel)) await this.place(channel);
  }

  private placed(channel: Channel): void {
    // Who waited for that longer than expected has been sent away.
    if (channel.wasHeard || channel.attempts > 0 || !channel.inSlot) this.tellRestored();
    channel.wasHeard = true;
    channel.attempts = 0;
    for (const tell of [...channel.waiting]) tell(this.isHeard(channel));
  }

  /** Once for all channels that are heard again at the same time. */
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
      // One that is being placed is left when it has been.
      if (channel.line !== undefined && channel.listening !== undefined) this.leave(channel.line, channel.name);
    }
  }

  private leave(line: ClusterLine, name: string): void {
    // Somebody may want to hear it again by now, on the same line.
    if (line.isOver || this.channels.has(name)) return;
    if ([...this.channels.values()].some((channel) => channel.line === line)) line.unsubscribeInSlot(name);
    else line.end();
  }
}

/** Waits until somebody says whether it is so; `false` after `limit` ms. */
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
  waiting: new Set(),
});
