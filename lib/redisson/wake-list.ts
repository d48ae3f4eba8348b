/** What the list needs of a request. */
interface Arrival {
  readonly id: string;
  /** When its caller came. If left out: now. */
  readonly since?: number | undefined;
  readonly mode: { readonly kind: string };
}

/** An acquisition that waits, or is about to. */
interface Waiting {
  readonly id: string;
  /** The channel whose messages wake it; `undefined`: it has not joined. */
  channel: string | undefined;
  since: number;
  reads: boolean;
  /** How many requests of it are under way. */
  requests: number;
  /** Whether a message has asked it to retry, and it has not done so yet. */
  isWoken: boolean;
  /** The holders that it waits for, if the lock was not free at its latest request. */
  holders: readonly string[] | undefined;
  /** Whether its latest request was not sent, because an earlier acquisition of this client waits. */
  isBehind: boolean;
  /** It was released or given up. */
  isOver: boolean;
}

/**
 * The acquisitions of a client that wait for messages, by channel, in the order in which their callers came. A message of
 * Redisson names no waiter: each client lets one of its waiters try, or all of them. Redis keeps no order either, so an
 * acquisition that would pass an earlier one of its client does not try. Readers do not pass each other.
 */
export class WakeList {
  private readonly all = new Map<string, Waiting>();
  private readonly channels = new Map<string, Waiting[]>();

  constructor(private readonly wake: (id: string) => void) {}

  /** A request of an acquisition is about to be sent. */
  requesting(id: string): void {
    const waiting = this.all.get(id) ?? this.create(id);
    waiting.requests += 1;
    waiting.isWoken = false;
    waiting.isBehind = false;
  }

  /** A request was answered, or has failed. */
  answered(id: string): void {
    const waiting = this.all.get(id);
    if (waiting === undefined) return;
    waiting.requests -= 1;
    this.forgetUnused(waiting);
  }

  /** The lock was not free; `undefined`: the request has failed. Later callers do not pass a waiter. */
  contended(id: string, holders: readonly string[] | undefined): void {
    const waiting = this.all.get(id);
    if (waiting !== undefined) waiting.holders = holders;
  }

  /** The holders that an earlier acquisition waits for, so that this one must not pass it; `undefined`: it may be sent. */
  holdersBefore({ id, mode }: Arrival, channel: string): readonly string[] | undefined {
    const reads = mode.kind === 'read';
    for (const other of this.channels.get(channel) ?? []) {
      if (other.id === id) return undefined;
      if (other.holders !== undefined && !(reads && other.reads)) {
        this.all.get(id)!.isBehind = true;
        return other.holders;
      }
    }
    return undefined;
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
  join({ id, since = Infinity, mode }: Arrival, channel: string): void {
    const waiting = this.all.get(id) ?? this.create(id);
    if (waiting.isOver || waiting.channel !== undefined) return;
    Object.assign(waiting, { channel, since, reads: mode.kind === 'read' });
    const others = this.channels.get(channel) ?? [];
    if (others.length === 0) this.channels.set(channel, others);
    let at = others.length;
    while (at > 0 && others[at - 1]!.since > since) at -= 1;
    others.splice(at, 0, waiting);
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
      others.splice(others.indexOf(waiting), 1);
      if (others.length === 0) this.channels.delete(channel);
      else if (isWoken) this.wakeNext(others);
      this.wakeBehind(others);
    }
    this.forgetUnused(waiting);
  }

  /** A lock may be free: wakes the waiter that has waited longest. */
  wakeFirst(channel: string): void {
    this.wakeSome(channel, 1);
  }

  /** So many permits may be free: wakes as many waiters. */
  wakeSome(channel: string, count: number): void {
    for (const waiting of (this.channels.get(channel) ?? []).slice(0, Math.max(0, count))) this.wakeOne(waiting);
  }

  /** Many waiters may be served together: wakes all of them. */
  wakeAll(channel: string): void {
    this.wakeSome(channel, Infinity);
  }

  /** The others may have been woken by the same message, which said how many permits are free. */
  private wakeNext(others: readonly Waiting[]): void {
    this.wakeOne(others.find((waiting) => !waiting.isWoken) ?? others[0]!);
  }

  /** Wakes the first of the acquisitions that no earlier one keeps from trying any more, and the readers beside it. */
  private wakeBehind(others: readonly Waiting[]): void {
    let readersWait = false;
    for (const waiting of [...others]) {
      if (readersWait && !waiting.reads) return;
      if (waiting.isBehind && !waiting.isWoken) this.wakeOne(waiting);
      if (waiting.holders === undefined) continue;
      if (!waiting.reads) return;
      readersWait = true;
    }
  }

  private wakeOne(waiting: Waiting): void {
    waiting.isWoken = true;
    this.wake(waiting.id);
  }

  private create(id: string): Waiting {
    const state = { channel: undefined, since: Infinity, reads: false, holders: undefined };
    const waiting: Waiting = { id, ...state, requests: 0, isWoken: false, isBehind: false, isOver: false };
    this.all.set(id, waiting);
    return waiting;
  }

  private forgetUnused({ id, channel, requests }: Waiting): void {
    if (channel === undefined && requests === 0) this.all.delete(id);
  }
}
