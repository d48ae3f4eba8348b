import { TransientMap, TransientSet } from '../common/transient.js';
import type { LockStore } from '../store/lock-store.js';
import type { IdTable } from './orphans.js';
import { TicketLine } from './ticket-line.js';
import { TicketPace } from './ticket-pace.js';
import type { Ticket } from './ticket.js';

/** A queue of callers of this client for one key. */
interface WaitingQueue {
  readonly key: string;
  /** How many of its callers wait for the key. */
  readonly waiting: number;
}

/** The tables of what this client is acquiring: tickets by id, and the queues in which callers wait. */
export class PendingAcquisitions<Queue extends WaitingQueue> implements IdTable {
  readonly tickets = new TransientMap<string, Ticket>();
  /** Queues that all exclusive requests for a key share. */
  readonly sharedQueues = new TransientMap<string, Queue>();
  /** The latest queue of requests that share holds, by key. */
  readonly sharingQueues = new TransientMap<string, Queue>();
  /** Queues of one request each. */
  readonly separateQueues = new TransientSet<Queue>();
  /** Ids of acquisitions that were sent together, for several keys in one step. */
  readonly setIds = new Set<string>();
  /** Tickets with places of their own, by key. */
  private readonly lines = new TransientMap<string, TicketLine>();

  private counted: ReadonlyMap<string, number> | undefined;

  /** How often the store is asked for the tickets. */
  readonly pace: TicketPace;

  constructor(
    store: Pick<LockStore, 'mayKeepPlaces' | 'isPartitioned'>,
    private readonly front?: number,
  ) {
    this.pace = new TicketPace(this.tickets, store);
  }

  /** `key`: of a ticket that may be one of several of this client for a key. */
  add(ticket: Ticket, key: string | undefined): void {
    this.tickets.set(ticket.id, ticket);
    if (key === undefined || !ticket.keepsOrder) return;
    let line = this.lines.get(key);
    if (line === undefined) this.lines.set(key, (line = new TicketLine(this.front)));
    line.join(ticket);
  }

  remove(ticket: Ticket, key: string): void {
    this.tickets.delete(ticket.id);
    const { line } = ticket;
    if (line === undefined) return;
    line.leave(ticket);
    if (line.isEmpty) this.lines.delete(key);
  }

  /** How many callers of this client wait for a key. */
  waitingFor(key: string): number {
    const shared = this.sharedQueues.get(key)?.waiting ?? 0;
    const sharing = this.sharingQueues.get(key)?.waiting ?? 0;
    return shared + sharing + (this.separateCounts().get(key) ?? 0);
  }

  /** There may be very many of these queues, and very many keys that an observer asks about: counted once in a turn. */
  private separateCounts(): ReadonlyMap<string, number> {
    if (this.counted !== undefined) return this.counted;
    const counts = new Map<string, number>();
    for (const { key, waiting } of this.separateQueues.values()) counts.set(key, (counts.get(key) ?? 0) + waiting);
    this.counted = counts;
    queueMicrotask(() => (this.counted = undefined));
    return counts;
  }

  has(id: string): boolean {
    return this.tickets.has(id) || this.setIds.has(id);
  }
}
