import { LinkedList, type Linked } from '../common/linked-list.js';

/** How many tickets at the front of a line ask as often as a ticket that is alone. */
const FRONT = 32;

/** What a line needs of a ticket. */
export interface TicketInLine extends Linked<TicketInLine> {
  line: TicketLine | undefined;
  /** Whether the ticket stands behind the front: it asks seldom. */
  follows: boolean;
  /** The ticket has come to the front, or its line has reason to doubt the store: it asks as often as the front from now on. */
  askSoon(): void;
}

/**
 * The tickets of this client for one key that each have a place of their own in the store's queue, in the order of their
 * requests. Each place is kept by asking again, which also detects a lost grant, a crashed holder and a failure of the
 * store. The store grants in the same order, so a lost grant concerns the front first. Therefore the tickets at the front
 * ask often, and the others seldom. Thousands of waiters then cost the store few commands.
 */
export class TicketLine {
  private readonly tickets = new LinkedList<TicketInLine>();
  private lastAtFront: TicketInLine | undefined;
  private atFront = 0;
  private doubtsUntil = -Infinity;

  constructor(private readonly front = FRONT) {}

  get isEmpty(): boolean {
    return this.tickets.first === undefined;
  }

  join(ticket: TicketInLine): void {
    this.tickets.append(ticket);
    ticket.line = this;
    ticket.follows = this.atFront === this.front;
    if (!ticket.follows) this.extendFront(ticket);
  }

  leave(ticket: TicketInLine): void {
    const { before } = ticket;
    if (!this.tickets.remove(ticket)) return;
    ticket.line = undefined;
    if (ticket.follows) return;
    this.atFront -= 1;
    if (ticket === this.lastAtFront) this.lastAtFront = before;
    const next = this.firstBehind;
    if (next === undefined) return;
    next.follows = false;
    this.extendFront(next);
    next.askSoon();
  }

  /** A question has failed. The tickets behind the front ask as well, once within `period` ms: they may fail, too. */
  doubt(now: number, period: number): void {
    if (now < this.doubtsUntil) return;
    this.doubtsUntil = now + period;
    for (let ticket = this.firstBehind; ticket !== undefined; ticket = ticket.behind) ticket.askSoon();
  }

  private get firstBehind(): TicketInLine | undefined {
    return this.lastAtFront === undefined ? this.tickets.first : this.lastAtFront.behind;
  }

  private extendFront(ticket: TicketInLine): void {
    this.lastAtFront = ticket;
    this.atFront += 1;
  }
}
