import type { CountDownReply, LatchCount } from '../latch-store.js';
import { OPENED_RETENTION } from '../protocol.generated.js';
import type { Expiring } from './expiring-map.js';
import type { MemoryServer } from './memory-server.js';

/** For how many ms a call that has taken effect is remembered. */
const CALL_MEMORY = 60_000;

/** A latch between `setCount` and its opening. */
interface Latch {
  readonly name: string;
  readonly lifetime: number;
  left: number;
  until: number;
  /** The clients that want the message that the latch has opened → until when. */
  readonly clients: Map<string, number>;
}

/** The count-down latches of one key, one after the other. Mirrors the scripts `lua/latch-*.lua`. */
export class MemoryLatch implements Expiring {
  private latch: Latch | undefined;
  /** Calls that have taken effect → until when they are remembered. They outlive the latch. */
  private readonly calls = new Map<string, number>();
  /** Names of latches that have reached 0 → until when they are remembered. */
  private readonly opened = new Map<string, number>();
  private memoryUntil = 0;

  constructor(
    private readonly key: string,
    private readonly server: MemoryServer,
  ) {}

  isExpired(now: number): boolean {
    return this.current(now) === undefined && this.memoryUntil <= now;
  }

  set(name: string, count: number, lifetime: number): boolean {
    const { now } = this.server;
    if (this.isRecorded(name)) return true;
    if (this.current(now) !== undefined) return false;
    this.recordCall(name);
    this.latch = { name, lifetime, left: count, until: now + lifetime, clients: new Map() };
    return true;
  }

  countDown(id: string): CountDownReply {
    const { now } = this.server;
    const latch = this.current(now);
    if (this.isRecorded(id)) return { left: latch?.left ?? 0, counted: true };
    if (latch === undefined) return { left: 0, counted: false };
    this.recordCall(id);
    latch.left -= 1;
    latch.until = now + latch.lifetime;
    if (latch.left === 0) this.open(latch);
    return { left: latch.left, counted: true };
  }

  count(client: string, patience: number, seen: readonly string[]): LatchCount {
    const { now } = this.server;
    const latch = this.current(now);
    const opened = seen.filter((name) => (this.opened.get(name) ?? 0) > now);
    if (latch === undefined) return { left: 0, latch: '', opened };
    if (patience > 0) latch.clients.set(client, now + patience);
    return { left: latch.left, latch: latch.name, opened };
  }

  /** Returns whether this call has deleted the latch. */
  delete(id: string, name: string): boolean {
    if (this.isRecorded(id)) return true;
    if (this.current(this.server.now)?.name !== name) return false;
    this.recordCall(id);
    this.latch = undefined;
    return true;
  }

  private open({ name, lifetime, clients }: Latch): void {
    const { now } = this.server;
    this.latch = undefined;
    for (const [other, until] of this.opened) if (until <= now) this.opened.delete(other);
    const until = now + Math.max(lifetime, OPENED_RETENTION);
    this.opened.set(name, until);
    this.keepUntil(until);
    for (const [client, until] of clients) {
      if (until > this.server.now) this.server.tell(client, (listener) => listener.opened(this.key, name));
    }
  }

  private current(now: number): Latch | undefined {
    if (this.latch !== undefined && this.latch.until <= now) this.latch = undefined;
    return this.latch;
  }

  private isRecorded(id: string): boolean {
    return (this.calls.get(id) ?? 0) > this.server.now;
  }

  private recordCall(id: string): void {
    const { now } = this.server;
    for (const [other, until] of this.calls) {
      if (until > now) break; // all further entries are newer
      this.calls.delete(other);
    }
    this.calls.set(id, now + CALL_MEMORY);
    this.keepUntil(now + CALL_MEMORY);
  }

  private keepUntil(until: number): void {
    this.memoryUntil = Math.max(this.memoryUntil, until);
  }
}
