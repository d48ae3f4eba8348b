import type { MemoryServer } from './memory-server.js';

/** The id of the tombstone of a hold that was ended by force. The acquisition itself may be granted again. */
export const revocationOf = (id: string): string => `revoked:${id}`;

/** Ids of acquisitions that were abandoned or revoked, as in `lua/shared/tombstones.lua`. */
export class MemoryTombstones {
  private readonly ends = new Map<string, number>();
  private until = 0;

  constructor(private readonly server: MemoryServer) {}

  /** Whether any tombstone exists. */
  get exist(): boolean {
    return this.until > this.server.now;
  }

  has(id: string): boolean {
    return (this.ends.get(id) ?? 0) > this.server.now;
  }

  /** Writes a tombstone for `lifetime` ms. */
  write(id: string, lifetime: number): void {
    const { now } = this.server;
    for (const [other, ends] of this.ends) if (ends <= now) this.ends.delete(other);
    this.ends.set(id, now + lifetime);
    this.until = Math.max(this.until, now + lifetime);
  }
}
