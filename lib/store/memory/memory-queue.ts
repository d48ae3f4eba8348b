import type { AcquireRequest } from '../lock-store.js';
import {
  FOLLOWER_PERIOD,
  MAX_RETRY_PLACES,
  PARKED_SEARCHED,
  PARKED_SWEPT,
  RETRY_AFTER_EXPIRY,
  RETRY_PER_PLACE,
  TICKETS_AHEAD,
} from '../protocol.generated.js';
import type { MemoryHold } from './memory-holds.js';
import type { Claim } from './memory-modes.js';
import { clientOf } from './memory-server.js';

/** A place in the queue. */
export interface MemoryTicket extends Claim {
  readonly place: number;
  /** Since when its request waits. */
  readonly since: number;
  readonly staleAt: number;
  readonly lease: number;
  readonly grantTimeout: number;
  readonly batchSize: number;
  readonly fair: boolean;
  readonly slots?: number | undefined;
  retryAt: number;
}

/** The tickets of one lock in the order of arrival: `queue` and `waiters` of Redis, and `lua/shared/queue.lua`. */
export class MemoryQueue {
  private readonly tickets = new Map<string, MemoryTicket>();
  /** Tickets whose clients were absent at a grant. No grant looks at them until their clients retry. */
  private readonly parked = new Map<string, MemoryTicket>();
  /** Clients that have let a pushed grant expire. Their tickets are parked until they retry. */
  private readonly passed = new Set<string>();
  private until = 0;
  /** The number of fair tickets: they are served in the order of arrival across clients. */
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
   * The place of an acquisition, or a new one at the end. `micros`: the time at which its request arrived, which sets
   * its place. It falls behind its earlier place only if `backedOff` is set. `ahead`: see `AcquireRequest`.
   */
  placeFor(
    id: string,
    micros: number | undefined,
    { backedOff, ahead }: Pick<AcquireRequest, 'backedOff' | 'ahead'>,
    now: number,
  ): number {
    const last = this.exists(now) ? this.last : 0;
    const place = this.get(id)?.place;
    if (micros !== undefined) return backedOff === true ? micros : Math.min(micros, place ?? Infinity);
    return place ?? (ahead === true ? this.placeAhead() : undefined) ?? last + 2 - (last % 2);
  }

  /** As `lua/shared/place-ahead.lua`. */
  private placeAhead(): number | undefined {
    if (this.fair > 0) return undefined;
    const places = [...this.tickets.values()].slice(0, TICKETS_AHEAD).map(({ place }) => place);
    const behind = places.slice(places.findLastIndex((place) => place % 2 === 1) + 1)[0];
    return behind && behind + 1;
  }

  /** Since when an acquisition waits; `undefined`: it has no ticket. */
  sinceOf(id: string): number | undefined {
    return this.get(id)?.since;
  }

  /** A client that sends a request is no longer passed over. */
  write(ticket: MemoryTicket, now: number): void {
    this.passed.delete(clientOf(ticket.id));
    const empty = this.tickets.size + this.parked.size === 0;
    const isNew = this.get(ticket.id) === undefined;
    const before = this.tickets.get(ticket.id)?.place;
    const wasParked = this.parked.has(ticket.id);
    if (wasParked) this.unpark(ticket.id);
    this.tickets.set(ticket.id, ticket);
    if (isNew && ticket.fair) this.fair += 1;
    this.sweepParked(now);
    if (before === ticket.place) return;
    if (empty || (before === undefined && !wasParked && ticket.place > this.last)) this.last = ticket.place;
    else this.sort(); // a ticket was inserted before another one, or changed its place
  }

  drop(id: string): boolean {
    const ticket = this.get(id);
    if (ticket === undefined) return false;
    if (ticket.fair) this.fair -= 1;
    return this.tickets.delete(id) || this.parked.delete(id);
  }

  /** Parks a ticket. It keeps its place for the next retry of its client. */
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

  /** All tickets that are not parked, in order, stale ones included. The caller may drop or park the current ticket. */
  read(now: number): Iterable<MemoryTicket> {
    return this.exists(now) ? this.tickets.values() : [];
  }

  /** All tickets, parked ones last. */
  readAll(now: number): MemoryTicket[] {
    return this.exists(now) ? [...this.tickets.values(), ...this.parked.values()] : [];
  }

  /** The number of tickets before a place, up to a limit. */
  before(place: number): number {
    let count = 0;
    for (const ticket of this.tickets.values()) {
      if (ticket.place >= place || count === MAX_RETRY_PLACES) break;
      count += 1;
    }
    return count;
  }

  /** Keeps the queue somewhat longer than necessary, as in Redis, so that few requests have to prolong it. */
  keepFor(patience: number, now: number): void {
    if (this.until < now + patience) this.until = now + Math.round(1.25 * patience);
  }

  /** The first `count` parked tickets. */
  readParked(count: number): MemoryTicket[] {
    return [...this.parked.values()].sort(byPlace).slice(0, count);
  }

  private get(id: string): MemoryTicket | undefined {
    return this.tickets.get(id) ?? this.parked.get(id);
  }

  /** A request brings its ticket back to its place, and the other tickets of its client. */
  private unpark(id: string): void {
    for (const ticket of [this.parked.get(id)!, ...this.readParked(PARKED_SEARCHED)]) {
      if (clientOf(ticket.id) !== clientOf(id)) continue;
      this.parked.delete(ticket.id);
      this.tickets.set(ticket.id, ticket);
    }
  }

  private sweepParked(now: number): void {
    if (this.parked.size === 0) return;
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

/**
 * The latest time at which the next request becomes grantable: an exclusive request needs the end of all leases, any
 * other one the end of the first.
 */
export function freeAt(holds: readonly MemoryHold[], { mode }: Claim): number | undefined {
  if (holds.length === 0) return undefined;
  const pick = mode.kind === 'exclusive' ? Math.max : Math.min;
  return pick(...holds.map(({ ends }) => ends));
}

/** When a waiter has to retry: after its period, or when the leases that block it end. */
export function retryTime(
  holds: readonly MemoryHold[],
  /** The number of tickets before it. */
  place: number,
  request: Claim & Pick<AcquireRequest, 'period' | 'grantTimeout'>,
  now: number,
): number {
  const follows = request.period >= request.grantTimeout * FOLLOWER_PERIOD;
  const free = (follows ? undefined : freeAt(holds, request)) ?? Infinity;
  return Math.min(now + request.period, free + RETRY_AFTER_EXPIRY + place * RETRY_PER_PLACE);
}
