import type { AcquireRequest } from '../lock-store.js';
import type { MemoryHold } from './memory-holds.js';
import type { Claim } from './memory-modes.js';

/** A waiter asks this long after the end of a lease that stands in its way, and later the farther back it is. */
export const AFTER_END = 2;
const PER_PLACE = 10;
const MOST_PLACES = 100;

/** A place in the queue. */
export interface MemoryTicket extends Claim {
  readonly staleAt: number;
  readonly lease: number;
  readonly grantTimeout: number;
  askAt: number;
}

/** The tickets of one lock in the order in which they came: `queue` and `waiters` of Redis, and `lua/shared/queue.lua`. */
export class MemoryQueue {
  private readonly tickets = new Map<string, MemoryTicket>();
  private until = 0;

  exists(now: number): boolean {
    if (this.until <= now) this.tickets.clear();
    return this.tickets.size > 0;
  }

  /** Takes a place at the end, or keeps the one that it has. */
  write(ticket: MemoryTicket): void {
    this.tickets.set(ticket.id, ticket);
  }

  drop(id: string): void {
    this.tickets.delete(id);
  }

  /** In turn; also those that are stale. */
  read(now: number): MemoryTicket[] {
    return this.exists(now) ? [...this.tickets.values()] : [];
  }

  placeOf(id: string): number {
    return [...this.tickets.keys()].indexOf(id);
  }

  hasPlace(id: string): boolean {
    return this.tickets.has(id);
  }

  get size(): number {
    return this.tickets.size;
  }

  keepUntil(until: number): void {
    this.until = Math.max(this.until, until);
  }
}

/** When somebody may come in at the latest who waits now: who wants it alone needs all leases to end, others the first. */
export function freeAt(holds: readonly MemoryHold[], { mode }: Claim): number | undefined {
  if (holds.length === 0) return undefined;
  const pick = mode.kind === 'exclusive' ? Math.max : Math.min;
  return pick(...holds.map(({ ends }) => ends));
}

/** When a waiter is to ask again: after its period, or when the leases end that stand in its way. */
export function askTime(
  holds: readonly MemoryHold[],
  place: number,
  request: Claim & Pick<AcquireRequest, 'period'>,
  now: number,
): number {
  const free = freeAt(holds, request) ?? Infinity;
  return Math.min(now + request.period, free + AFTER_END + Math.min(place, MOST_PLACES) * PER_PLACE);
}
