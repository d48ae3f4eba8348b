import type { LatchCount } from '../latch-store.js';
import type { Fading } from './fading-map.js';
import type { MemoryServer } from './memory-server.js';

/** For how many ms a call is remembered that has counted down. */
const CALL_MEMORY = 60_000;

/** A latch between `setCount` and its opening. */
interface Latch {
  readonly name: string;
  readonly lifetime: number;
  left: number;
  until: number;
  /** Clients that want to hear of 0 → until when. */
  readonly clients: Map<string, number>;
}

/** The count-down latches of one key, one after the other, as the scripts `lua/latch-*.lua` treat them. */
export class MemoryLatch implements Fading {
  private latch: Latch | undefined;
  /** Calls that have counted down → until when that is remembered; also when the latch has opened since. */
  private readonly counted = new Map<string, number>();
  private countedUntil = 0;

  constructor(
    private readonly key: string,
    private readonly server: MemoryServer,
  ) {}

  isOver(now: number): boolean {
    return this.current(now) === undefined && this.countedUntil <= now;
  }

  set(name: string, count: number, lifetime: number): boolean {
    const { now } = this.server;
    if (this.current(now) !== undefined) return false;
    this.latch = { name, lifetime, left: count, until: now + lifetime, clients: new Map() };
    return true;
  }

  countDown(id: string): number {
    const { now } = this.server;
    const latch = this.current(now);
    if (latch === undefined || (this.counted.get(id) ?? 0) > now) return latch?.left ?? 0;
    this.remember(id, now);
    latch.left -= 1;
    latch.until = now + latch.lifetime;
    if (latch.left === 0) this.open(latch);
    return latch.left;
  }

  count(client: string, patience: number): LatchCount {
    const { now } = this.server;
    const latch = this.current(now);
    if (latch === undefined) return { left: 0, latch: '' };
    if (patience > 0) latch.clients.set(client, now + patience);
    return { left: latch.left, latch: latch.name };
  }

  private open({ name, clients }: Latch): void {
    this.latch = undefined;
    for (const [client, until] of clients) {
      if (until > this.server.now) this.server.tell(client, (listener) => listener.opened(this.key, name));
    }
  }

  private current(now: number): Latch | undefined {
    if (this.latch !== undefined && this.latch.until <= now) this.latch = undefined;
    return this.latch;
  }

  private remember(id: string, now: number): void {
    for (const [other, until] of this.counted) {
      if (until > now) break; // as are those behind it
      this.counted.delete(other);
    }
    this.counted.set(id, now + CALL_MEMORY);
    this.countedUntil = now + CALL_MEMORY;
  }
}
