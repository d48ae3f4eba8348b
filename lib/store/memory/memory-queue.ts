import type { AcquireRequest } from '../lock-store.js';
import type { MemoryHold } from './memory-holds.js';
import type { Claim } from './memory-modes.js';

/** A waiter asks this long after the end of a lease that stands in its way, and later the farther back it is. */
export const AFTER_END = 2;
const PER_PLACE = 10;
/** How many places make it later. */
const MOST_PLACES = 100;

/** A place in the queue. */
export interface MemoryTicket extends Claim {
  readonly place: number;
  readonly staleAt: number;
  readonly lease: number;
  readonly grantTimeout: number;
  readonly turns: number;
  readonly fair: boolean;
  askAt: number;
}

/** The tickets of one lock in the order in which they came: `queue` and `waiters` of Redis, and `lua/shared/queue.lua`. */
export class MemoryQueue {
  private readonly tickets = new Map<string, MemoryTicket>();
  private until = 0;
  /** The last one who came of those who are to be served in the order in which all came. */
  private lastFair: string | undefined;
  /** The last place. */
  private last = 0;

  exists(now: number): boolean {
    if (this.until <= now) {
      this.tickets.clear();
      this.lastFair = undefined;
    }
    return this.tickets.size > 0;
  }

  has(id: string, now: number): boolean {
    return this.exists(now) && this.tickets.has(id);
  }

  /**
   * The place that an acquisition has, or one at the end; or that of somebody who came at `micros`, if that is given: a later
   * one than it has only if it is `younger`.
   */
  placeFor(id: string, micros: number | undefined, younger: boolean | undefined, now: number): number {
    const empty = !this.exists(now);
    const place = this.tickets.get(id)?.place;
    if (micros !== undefined) return younger === true ? micros : Math.min(micros, place ?? Infinity);
    return place ?? (empty ? 1 : this.last + 1);
  }

  write(ticket: MemoryTicket): void {
    const empty = this.tickets.size === 0;
    const before = this.tickets.get(ticket.id)?.place;
    this.tickets.set(ticket.id, ticket);
    if (ticket.fair && (before === undefined || this.lastFair === undefined)) this.lastFair = ticket.id;
    if (before === ticket.place) return;
    if (empty || (before === undefined && ticket.place > this.last)) this.last = ticket.place;
    else this.sort();
  }

  drop(id: string): boolean {
    if (this.lastFair === id) this.lastFair = undefined;
    return this.tickets.delete(id);
  }

  /** Whether somebody waits, anywhere in the queue, who is to be served in the order in which all came. */
  hasFair(now: number): boolean {
    return this.exists(now) && this.lastFair !== undefined;
  }

  /** In turn; also those that are stale. Those that come up may be dropped. */
  read(now: number): Iterable<MemoryTicket> {
    return this.exists(now) ? this.tickets.values() : [];
  }

  /** How many are in front of a place, as far as that matters. */
  before(place: number): number {
    let count = 0;
    for (const ticket of this.tickets.values()) {
      if (ticket.place >= place || count === MOST_PLACES) break;
      count += 1;
    }
    return count;
  }

  /** For somewhat longer than it needs to: as in Redis, where few have to see to it then. */
  keepFor(patience: number, now: number): void {
    if (this.until < now + patience) this.until = now + Math.round(1.25 * patience);
  }

  /** Somebody came between others, or changed places. */
  private sort(): void {
    const sorted = [...this.tickets.values()].sort((a, b) => a.place - b.place || (a.id < b.id ? -1 : 1));
    this.tickets.clear();
    for (const ticket of sorted) this.tickets.set(ticket.id, ticket);
    this.last = sorted.at(-1)!.place;
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
  /** How many are in front of it. */
  place: number,
  request: Claim & Pick<AcquireRequest, 'period'>,
  now: number,
): number {
  const free = freeAt(holds, request) ?? Infinity;
  return Math.min(now + request.period, free + AFTER_END + place * PER_PLACE);
}
