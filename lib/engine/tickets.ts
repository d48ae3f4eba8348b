import { TransientMap } from '../common/transient.js';
import type { LockStore } from '../store/lock-store.js';
import type { IdTable } from './orphans.js';
import { TicketLine } from './ticket-line.js';
import { TicketPace } from './ticket-pace.js';
import type { Ticket } from './ticket.js';

/** What this client is acquiring: the tickets by id, and how often the store is asked for each. */
export class Tickets implements IdTable {
  /** Ids of acquisitions that were sent together, for several keys in one step. */
  readonly setIds = new Set<string>();
  /** How often the store is asked for the tickets. */
  readonly pace: TicketPace;
  private readonly byId = new TransientMap<string, Ticket>();
  /** Tickets with places of their own, by key. */
  private readonly lines = new TransientMap<string, TicketLine>();

  constructor(
    store: Pick<LockStore, 'mayKeepPlaces' | 'isPartitioned'>,
    private readonly front?: number,
  ) {
    this.pace = new TicketPace(this.byId, store);
  }

  get(id: string): Ticket | undefined {
    return this.byId.get(id);
  }

  has(id: string): boolean {
    return this.byId.has(id) || this.setIds.has(id);
  }

  /** `key`: of a ticket that may be one of several of this client for a key. */
  add(ticket: Ticket, key: string | undefined): void {
    this.byId.set(ticket.id, ticket);
    if (key === undefined || !ticket.keepsOrder) return;
    let line = this.lines.get(key);
    if (line === undefined) this.lines.set(key, (line = new TicketLine(this.front)));
    line.join(ticket);
  }

  remove(ticket: Ticket, key: string): void {
    this.byId.delete(ticket.id);
    const { line } = ticket;
    if (line === undefined) return;
    line.leave(ticket);
    if (line.isEmpty) this.lines.delete(key);
  }
}
