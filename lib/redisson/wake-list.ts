/** An acquisition that waits, or is about to. */
interface Waiting {
  readonly id: string;
  /** The channel whose messages wake it; `undefined`: it has not joined. */
  channel: string | undefined;
  /** How many requests of it are under way. */
  requests: number;
  /** Whether a message has asked it to retry, and it has not done so yet. */
  isWoken: boolean;
  /** It was released or given up. */
  isOver: boolean;
}

/**
 * The acquisitions of a client that wait for messages, by channel, in the order of arrival. A message of Redisson names
 * no waiter: each client lets one of its waiters try, or all of them.
 */
export class WakeList {
  private readonly all = new Map<string, Waiting>();
  private readonly channels = new Map<string, Set<Waiting>>();

  constructor(private readonly wake: (id: string) => void) {}

  /** A request of an acquisition is about to be sent. */
  requesting(id: string): void {
    const waiting = this.all.get(id) ?? this.create(id);
    waiting.requests += 1;
    waiting.isWoken = false;
  }

  /** A request was answered, or has failed. */
  answered(id: string): void {
    const waiting = this.all.get(id);
    if (waiting === undefined) return;
    waiting.requests -= 1;
    this.forgetUnused(waiting);
  }

  /** Whether an acquisition was released or given up while a request of it is under way. */
  isOver(id: string): boolean {
    return this.all.get(id)?.isOver === true;
  }

  /** Whether a message has come since the latest request of an acquisition was sent. */
  isWoken(id: string): boolean {
    return this.all.get(id)?.isWoken === true;
  }

  /** Messages on a channel wake an acquisition from now on. It keeps its place if it has one. */
  join(id: string, channel: string): void {
    const waiting = this.all.get(id) ?? this.create(id);
    if (waiting.isOver || waiting.channel !== undefined) return;
    waiting.channel = channel;
    const others = this.channels.get(channel);
    if (others === undefined) this.channels.set(channel, new Set([waiting]));
    else others.add(waiting);
  }

  /** An acquisition has been granted, or is not wanted any more. If it has been woken, the next waiter is woken instead. */
  leave(id: string): void {
    const waiting = this.all.get(id);
    if (waiting === undefined) return;
    waiting.isOver = true;
    const { channel, isWoken } = waiting;
    if (channel !== undefined) {
      waiting.channel = undefined;
      const others = this.channels.get(channel)!;
      others.delete(waiting);
      if (others.size === 0) this.channels.delete(channel);
      else if (isWoken) this.wakeNext(others);
    }
    this.forgetUnused(waiting);
  }

  /** A lock may be free: wakes the waiter that has waited longest. */
  wakeFirst(channel: string): void {
    const [first] = this.channels.get(channel) ?? [];
    if (first !== undefined) this.wakeOne(first);
  }

  /** So many permits may be free: wakes as many waiters. */
  wakeSome(channel: string, count: number): void {
    for (const waiting of [...(this.channels.get(channel) ?? [])].slice(0, Math.max(0, count))) this.wakeOne(waiting);
  }

  /** Many waiters may be served together: wakes all of them. */
  wakeAll(channel: string): void {
    for (const waiting of [...(this.channels.get(channel) ?? [])]) this.wakeOne(waiting);
  }

  /** The others may have been woken by the same message, which said how many permits are free. */
  private wakeNext(others: ReadonlySet<Waiting>): void {
    const [first] = others;
    this.wakeOne([...others].find((waiting) => !waiting.isWoken) ?? first!);
  }

  private wakeOne(waiting: Waiting): void {
    waiting.isWoken = true;
    this.wake(waiting.id);
  }

  private create(id: string): Waiting {
    const waiting: Waiting = { id, channel: undefined, requests: 0, isWoken: false, isOver: false };
    this.all.set(id, waiting);
    return waiting;
  }

  private forgetUnused({ id, channel, requests }: Waiting): void {
    if (channel === undefined && requests === 0) this.all.delete(id);
  }
}
