import { LIMIT_RETENTION } from '../protocol.generated.js';
import type { MemoryServer } from './memory-server.js';

/** The number of permits that was set at run time, as the key `limit` of Redis. */
export class MemoryLimit {
  private permits = 0;
  private setBy = 0;
  private until = 0;

  constructor(private readonly server: MemoryServer) {}

  /** `undefined`: the number is not set, or has expired. */
  get value(): number | undefined {
    return this.until > this.server.now ? this.permits : undefined;
  }

  get isSet(): boolean {
    return this.value !== undefined;
  }

  /** Names the call that set the number; 0: the number is not set. */
  get version(): number {
    return this.isSet ? this.setBy : 0;
  }

  /** Sets the number unless a call has set it after the caller looked and saw `seen`. */
  set(permits: number, seen: number): void {
    if (this.version > seen) return;
    const { now, micros } = this.server;
    this.setBy = Math.max(this.version + 1, micros);
    this.permits = permits;
    this.until = now + LIMIT_RETENTION;
  }

  /** Adds to the number, without a new version: a call that sets it meanwhile counts as the later one. */
  add(permits: number): void {
    this.setBy = this.version;
    this.permits = permits;
    this.until = this.server.now + LIMIT_RETENTION;
  }

  /** A permit was granted: the number expires later. */
  used(): void {
    if (this.isSet) this.until = this.server.now + LIMIT_RETENTION;
  }
}
