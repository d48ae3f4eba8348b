import type { AcquireRequest } from '../lock-store.js';
import { MAX_RETRY_PLACES, PARKED_SWEPT, RETRY_AFTER_EXPIRY, RETRY_PER_PLACE } from '../protocol.generated.js';
import type { MemoryHold } from './memory-holds.js';
import type { Claim } from './memory-modes.js';
import { clientOf } from './memory-server.js';

/** A place in the queue. */
export interface MemoryTicket extends Claim {
  readonly place: number;
  readonly staleAt: number;
  readonly lease: number;
  readonly grantTimeout: number;
  readonly batchSize: number;
  readonly fair: boolean;
  retryAt: number;
}

/** The tickets of one lock in the order in which they came: `queue` and `waiters` of Redis, and `lua/shared/queue.lua`. */
export class MemoryQueue {
  private readonly tickets = new Map<string, MemoryTicket>();
  /** Those whose clients could not take a grant: no grant looks at them until their clients ask again. */
  private readonly parked = new Map<string, MemoryTicket>();
  /** Clients that have let a grant run out: their tickets are parked until they ask again. */
  private readonly passed = new Set<string>();
  private until = 0;
  /** How many tickets are fair: served in the order in which all clients came. */
  private fair = 0;
  /** The last place. */
  private last = 0;

  exists(now: number): boolean {
    if (this.until <= now) {
      this.tickets.clear();
      this.parked.clear();
      this.passed.clear();
      this.fair = 0;
    }
    return this.tickets.size + this.parked.size > 0;
  }

  has(id: string, now: number): boolean {
    return this.exists(now) && this.get(id) !== undefined;
  }

  /**
   * The place that an acquisition has, or one at the end; or that of somebody who came at `micros`, if that is given: a later
   * one than it has only if it is `younger`.
   */
  placeFor(id: string, micros: number | undefined, backedOff: boolean | undefined, now: number): number {
    const empty = !this.exists(now);
    const place = this.get(id)?.place;
    if (micros !== undefined) return backedOff === true ? micros : Math.min(micros, place ?? Infinity);
    return place ?? (empty ? 1 : this.last + 1);
  }

  /** Its client asks, so it is not passed over any more. */
  write(ticket: MemoryTicket, now: number): void {
    this.passed.delete(clientOf(ticket.id));
    const empty = this.tickets.size + this.parked.size === 0;
    const isNew = this.get(ticket.id) === undefined;
    const before = this.tickets.get(ticket.id)?.place;
    const wasParked = this.parked.has(ticket.id);
    if (wasParked) this.unpark(clientOf(ticket.id));
    this.tickets.set(ticket.id, ticket);
    if (isNew && ticket.fair) this.fair += 1;
    if (isNew) this.sweepParked(now);
    if (before === ticket.place) return;
    if (empty || (before === undefined && !wasParked && ticket.place > this.last)) this.last = ticket.place;
    else this.sort(); // some came between others, or changed places
  }

  drop(id: string): boolean {
    const ticket = this.get(id);
    if (ticket === undefined) return false;
    if (ticket.fair) this.fair -= 1;
    return this.tickets.delete(id) || this.parked.delete(id);
  }

  /** Has a ticket keep its place for when its client asks again. */
  park(ticket: MemoryTicket): void {
    this.tickets.delete(ticket.id);
    this.parked.set(ticket.id, ticket);
  }

  passOver(clients: Iterable<string>): void {
    for (const client of clients) this.passed.add(client);
  }

  isPassedOver(client: string): boolean {
    return this.passed.has(client);
  }

  /** Whether the queue contains a fair request. */
  hasFair(now: number): boolean {
    return this.exists(now) && this.fair > 0;
  }

  /** In turn, without those that are parked; also those that are stale. Those that come up may be dropped or parked. */
  read(now: number): Iterable<MemoryTicket> {
    return this.exists(now) ? this.tickets.values() : [];
  }

  /** All of them, parked ones last. */
  readAll(now: number): MemoryTicket[] {
    return this.exists(now) ? [...this.tickets.values(), ...this.parked.values()] : [];
  }

  /** How many are in front of a place, as far as that matters. */
  before(place: number): number {
    let count = 0;
    for (const ticket of this.tickets.values()) {
      if (ticket.place >= place || count === MAX_RETRY_PLACES) break;
      count += 1;
    }
    return count;
  }

  /** For somewhat longer than it needs to: as in Redis, where few have to see to it then. */
  keepFor(patience: number, now: number): void {
    if (this.until < now + patience) this.until = now + Math.round(1.25 * patience);
  }

  /** The first so many tickets that are parked. */
  readParked(count: number): MemoryTicket[] {
    return [...this.parked.values()].sort(byPlace).slice(0, count);
  }

  private get(id: string): MemoryTicket | undefined {
    return this.tickets.get(id) ?? this.parked.get(id);
  }

  /** A client asks, so all its tickets have their old places back. */
  private unpark(client: string): void {
    for (const ticket of [...this.parked.values()]) {
      if (clientOf(ticket.id) !== client) continue;
      this.parked.delete(ticket.id);
      this.tickets.set(ticket.id, ticket);
    }
  }

  private sweepParked(now: number): void {
    for (const { id, staleAt } of this.readParked(PARKED_SWEPT)) if (staleAt <= now) this.drop(id);
  }

  private sort(): void {
    const sorted = [...this.tickets.values()].sort(byPlace);
    this.tickets.clear();
    for (const ticket of sorted) this.tickets.set(ticket.id, ticket);
    this.last = Math.max(sorted.at(-1)!.place, ...[...this.parked.values()].map(({ place }) => place));
  }
}

const byPlace = (a: MemoryTicket, b: MemoryTicket): number => a.place - b.place || (a.id < b.id ? -1 : 1);

/** When somebody may come in at the latest who waits now: who wants it alone needs all leases to end, others the first. */
export function freeAt(holds: readonly MemoryHold[], { mode }: Claim): number | undefined {
  if (holds.length === 0) return undefined;
  const pick = mode.kind === 'exclusive' ? Math.max : Math.min;
  return pick(...holds.map(({ ends }) => ends));
}

/** When a waiter is to ask again: after its period, or when the leases end that stand in its way. */
export function retryTime(
  holds: readonly MemoryHold[],
  /** How many are in front of it. */
  place: number,
  request: Claim & Pick<AcquireRequest, 'period'>,
  now: number,
): number {
  const free = freeAt(holds, request) ?? Infinity;
  return Math.min(now + request.period, free + RETRY_AFTER_EXPIRY + place * RETRY_PER_PLACE);
}
