import { inSlices } from '../common/slices.js';

/** With more tickets than this, a client asks for each of them less often. It sends no more than about 4 000 commands a second. */
const ASKED_OFTEN = 10_000;
/** At most so many times less often. A period stays shorter than `FOLLOWER_PERIOD`: it ends early if a lease ends. */
const SLOWEST = 7;
/** With more tickets than this, a client repeats their failed questions later. */
const RETRIED_OFTEN = 1_000;
/** How many slices of questions may be unanswered after a reconnect. */
const SLICES_AHEAD = 8;
const SLICE = 100;

/** What a pace needs of a ticket. */
export interface PacedTicket {
  readonly id: string;
  /** Asks as often as a ticket that is alone, once. */
  askSoon(): void;
  /** Asks now. Resolves with the answer or the failure. */
  tryAcquireOrEnqueue(): Promise<void>;
}

/** How often a client asks the store for its tickets: each key in which it waits has one, and there may be very many. */
export class TicketPace {
  private answeredAt = -Infinity;
  private doubtsUntil = -Infinity;
  private rounds = 0;

  constructor(
    private readonly tickets: { readonly size: number; get(id: string): unknown; values(): PacedTicket[] },
    /** Each ticket has to be asked for often, however many there are. */
    private readonly isFixed: boolean,
  ) {}

  /** By how many times less often than a single ticket each ticket asks. */
  get slowness(): number {
    return this.isFixed ? 1 : Math.min(Math.max(1, this.tickets.size / ASKED_OFTEN), SLOWEST);
  }

  /** By how many times later than that of a single ticket each failed question is repeated. */
  get patience(): number {
    return Math.max(1, this.tickets.size / RETRIED_OFTEN);
  }

  /** The store has answered a question. */
  answered(now: number): void {
    this.answeredAt = now;
  }

  /**
   * A question of `sent` has failed. If the store has answered nothing since, all tickets ask soon, once within `period` ms:
   * their waiters have to learn of a failure as early as those of a few tickets.
   */
  doubt(now: number, sent: number, period: number): void {
    if (this.slowness === 1 || this.answeredAt >= sent || now < this.doubtsUntil) return;
    this.doubtsUntil = now + period;
    void inSlices(this.tickets.values(), (ticket) => ticket.askSoon());
  }

  /**
   * Asks for all tickets, no faster than the store answers: questions that wait for very many others would fail. The first
   * slice is answered before the second is sent, since a server that has restarted may need the scripts first.
   */
  async askForAll(): Promise<void> {
    const round = (this.rounds += 1);
    const tickets = this.tickets.values();
    const underWay: Array<Promise<unknown>> = [];
    for (let start = 0; start < tickets.length && round === this.rounds; start += SLICE) {
      // A ticket may have ended between two slices.
      const slice = tickets.slice(start, start + SLICE).filter((ticket) => this.tickets.get(ticket.id) === ticket);
      underWay.push(Promise.all(slice.map((ticket) => ticket.tryAcquireOrEnqueue())));
      if (start === 0 || underWay.length >= SLICES_AHEAD) await underWay.shift();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
