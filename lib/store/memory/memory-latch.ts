import type { CountDownReply, LatchCount, SetCountRequest } from '../latch-store.js';
import { OPENED_RETENTION } from '../protocol.generated.js';
import type { MemoryServer } from './memory-lock.js';

/** A latch between `setCount` and its opening. */
interface Latch {
  readonly name: string;
  readonly lifetime: number;
  left: number;
  until: number;
  /** The clients that want the message that the latch has opened → until when. */
  readonly clients: Map<string, number>;
}

/** The count-down latches of one key, one after the other. */
export class MemoryLatch {
  private latch: Latch | undefined;
  /** Names of latches that have reached 0 → until when they are remembered. */
  private readonly opened = new Map<string, number>();

  constructor(
    private readonly key: string,
    private readonly server: MemoryServer,
  ) {}

  isExpired(): boolean {
    return this.current() === undefined && [...this.opened.values()].every((until) => until <= this.server.now);
  }

  set({ id, count, lifetime }: SetCountRequest): boolean {
    if (this.current() !== undefined) return false;
    this.latch = { name: id, lifetime, left: count, until: this.server.now + lifetime, clients: new Map() };
    return true;
  }

  countDown(): CountDownReply {
    const latch = this.current();
    if (latch === undefined) return { left: 0, counted: false };
    latch.left -= 1;
    latch.until = this.server.now + latch.lifetime;
    if (latch.left === 0) this.open(latch);
    return { left: latch.left, counted: true };
  }

  count(client: string, patience: number, seen: readonly string[]): LatchCount {
    const { now } = this.server;
    const latch = this.current();
    const opened = seen.filter((name) => (this.opened.get(name) ?? 0) > now);
    if (latch === undefined) return { left: 0, latch: '', opened };
    if (patience > 0) latch.clients.set(client, now + patience);
    return { left: latch.left, latch: latch.name, opened };
  }

  /** Returns whether there was a latch of this name. */
  delete(name: string): boolean {
    if (this.current()?.name !== name) return false;
    this.latch = undefined;
    return true;
  }

  private open({ name, lifetime, clients }: Latch): void {
    const { now } = this.server;
    this.latch = undefined;
    for (const [other, until] of this.opened) if (until <= now) this.opened.delete(other);
    this.opened.set(name, now + Math.max(lifetime, OPENED_RETENTION));
    for (const [client, until] of clients) {
      if (until > now) this.server.tell(client, (listener) => listener.opened(this.key, name));
    }
  }

  private current(): Latch | undefined {
    if (this.latch !== undefined && this.latch.until <= this.server.now) this.latch = undefined;
    return this.latch;
  }
}
