import { MAX_RETRY_PLACES, PUSHED_GRACE, RETRY_AFTER_EXPIRY, RETRY_PER_PLACE } from '../protocol.generated.js';
import type { GrantedClaim } from './memory-modes.js';

/** A holder of the lock, with the end of its lease. */
export interface MemoryHold extends GrantedClaim {
  readonly token: number;
  readonly since: number;
  ends: number;
  /** Granted by a message, and the client has sent nothing since. */
  pushed: boolean;
  /** Permits with an uncontended batch, and no other client has requested the lock since. */
  alone?: boolean;
}

/** The holds of one lock: the hash `state` of Redis, and `lua/shared/holds.lua`. */
export class MemoryHolds {
  private readonly holds = new Map<string, MemoryHold>();
  /** The end of the longest lease, like the TTL of the state in Redis. */
  private until = 0;

  write(hold: MemoryHold): void {
    this.holds.set(hold.id, hold);
  }

  get(id: string, now: number): MemoryHold | undefined {
    return this.exist(now) ? this.holds.get(id) : undefined;
  }

  delete(id: string, now: number): boolean {
    return this.exist(now) && this.holds.delete(id);
  }

  clear(): void {
    this.holds.clear();
  }

  exist(now: number): boolean {
    if (this.until <= now) this.holds.clear();
    return this.holds.size > 0;
  }

  /** The holds whose leases run, and those whose leases have ended. */
  read(now: number): { readonly holds: MemoryHold[]; readonly ended: readonly MemoryHold[] } {
    this.exist(now);
    const all = [...this.holds.values()];
    return {
      holds: all.filter(({ ends }) => ends > now),
      ended: all.filter(({ ends }) => ends <= now),
    };
  }

  /**
   * Keeps the holds until the longest of their leases ends. A pushed grant is kept until every waiter has retried: a
   * waiter that knows the end of the lease, and a waiter whose period is up to twice the lease.
   */
  keepAsLongAs(holds: readonly MemoryHold[]): void {
    if (holds.length === 0) return;
    this.until = Math.max(...holds.map((hold) => (hold.pushed ? noticedUntil(hold) : hold.ends)));
  }

  keepUntil(ends: number): void {
    this.until = Math.max(this.until, ends);
  }
}

/** When every waiter has noticed at the latest that a pushed grant was not taken. */
const noticedUntil = ({ since, ends }: MemoryHold): number =>
  ends + Math.max(ends - since, RETRY_AFTER_EXPIRY + MAX_RETRY_PLACES * RETRY_PER_PLACE) + PUSHED_GRACE;
