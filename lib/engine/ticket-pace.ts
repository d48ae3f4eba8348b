import { inSlices } from '../common/slices.js';
import type { LockStoreError } from '../errors/index.js';
import type { LockStore } from '../store/lock-store.js';

/** With more tickets than this, a client asks for each of them less often. So it sends about 4 000 commands a second at most. */
const ASKED_OFTEN = 10_000;
/** At most so many times less often. A period stays shorter than `FOLLOWER_PERIOD`: it ends early if a lease ends. */
const SLOWEST = 7;
/** With more tickets than this, a client repeats failed questions later. */
const RETRIED_OFTEN = 1_000;
/** While so many questions are unanswered, no other ticket asks. */
const MOST_UNANSWERED = 500;

/** What a pace needs of a ticket. */
export interface PacedTicket {
  readonly id: string;
  /** Whether it has asked nothing yet. */
  readonly isNew: boolean;
  readonly terms: { readonly key: string };
  /** Asks as often as a ticket that is alone, once. */
  askSoon(): void;
  /** Asks now. */
  tryAcquireOrEnqueue(): void;
}

/**
 * How often, and how many at a time, a client asks the store for its tickets. Each key in which it waits has a ticket, and
 * there may be very many. Questions that wait in Redis behind very many others would fail after `commandTimeout`.
 */
export class TicketPace {
  private unanswered = 0;
  private answeredAt = -Infinity;
  private doubtsUntil = -Infinity;
  /** Why the store has not answered the latest question that has failed, unless it has answered another one since. */
  private silence: LockStoreError | undefined;
  /** Tickets that have to ask, each once: new tickets go before tickets that have asked before. */
  private readonly fresh = new Backlog();
  private readonly repeated = new Backlog();

  constructor(
    private readonly tickets: { readonly size: number; get(id: string): unknown; values(): PacedTicket[] },
    private readonly store: Pick<LockStore, 'mayKeepPlaces' | 'isPartitioned'>,
  ) {}

  /** By how many times less often than a single ticket each ticket asks. */
  get slowness(): number {
    const { mayKeepPlaces, isPartitioned } = this.store;
    if (mayKeepPlaces || isPartitioned) return 1;
    return Math.min(Math.max(1, this.tickets.size / ASKED_OFTEN), SLOWEST);
  }

  /** By how many times later than that of a single ticket each failed question is repeated. */
  get patience(): number {
    return Math.max(1, this.tickets.size / RETRIED_OFTEN);
  }

  /** Why a question is of no use now: very many are unanswered, and the store answers none. */
  get trouble(): LockStoreError | undefined {
    return this.isFull ? this.silence : undefined;
  }

  /** Has a ticket ask, behind the tickets of its kind before it: now, unless very many questions are unanswered. */
  ask(ticket: PacedTicket): void {
    const isFirst = this.fresh.isEmpty && (ticket.isNew || this.repeated.isEmpty);
    if ((isFirst && !this.isFull) || this.trouble !== undefined) ticket.tryAcquireOrEnqueue();
    else (ticket.isNew ? this.fresh : this.repeated).add(ticket);
  }

  /** Has all tickets ask, or those of the keys that `concerns` accepts. */
  askForAll(concerns?: (key: string) => boolean): void {
    const tickets = this.tickets.values();
    void inSlices(concerns === undefined ? tickets : tickets.filter(({ terms }) => concerns(terms.key)), (ticket) =>
      this.ask(ticket),
    );
  }

  /** A question is under way. */
  sent(): void {
    this.unanswered += 1;
  }

  /** A question was answered at `now`, or has failed (`undefined`). */
  settled(now: number | undefined): void {
    this.unanswered -= 1;
    if (now !== undefined) {
      this.answeredAt = now;
      this.silence = undefined;
    }
    if (this.fresh.isEmpty && this.repeated.isEmpty) return;
    if (now !== undefined) this.askNextFew();
    // If the store refuses at once, very many questions would fail without a break for the event loop.
    else setImmediate(() => this.askNextFew());
  }

  /**
   * A question of `sent` has failed. If the store has answered nothing since, all tickets ask soon, once within `period` ms:
   * the waiters learn of a failure as early as if there were few of them.
   */
  doubt(error: LockStoreError, now: number, sent: number, period: number): void {
    if (this.tickets.size <= RETRIED_OFTEN || this.answeredAt >= sent) return;
    this.silence = error;
    if (now < this.doubtsUntil) return;
    this.doubtsUntil = now + period;
    void inSlices(Array.from({ length: this.fresh.size + this.repeated.size }), () => this.askNext());
    void inSlices(this.tickets.values(), (ticket) => ticket.askSoon());
  }

  /** The questions to a master that does not answer must not keep those to others. */
  private get isFull(): boolean {
    return !this.store.isPartitioned && this.unanswered >= MOST_UNANSWERED;
  }

  private askNextFew(): void {
    while (!this.isFull && this.askNext());
  }

  /** Returns whether a ticket had to ask. */
  private askNext(): boolean {
    const ticket = this.fresh.take() ?? this.repeated.take();
    // It may have ended meanwhile.
    if (ticket !== undefined && this.tickets.get(ticket.id) === ticket) ticket.tryAcquireOrEnqueue();
    return ticket !== undefined;
  }
}

/** Tickets in the order in which they were added, each once. */
class Backlog {
  private readonly tickets = new Set<PacedTicket>();
  /** Continues where it has stopped: a new iterator would pass all tickets that were taken. */
  private next = this.tickets.values();

  get size(): number {
    return this.tickets.size;
  }

  get isEmpty(): boolean {
    return this.tickets.size === 0;
  }

  add(ticket: PacedTicket): void {
    this.tickets.add(ticket);
  }

  take(): PacedTicket | undefined {
    if (this.isEmpty) {
      // An iterator that has reached the end stays there.
      this.next = this.tickets.values();
      return undefined;
    }
    let found = this.next.next();
    if (found.done === true) {
      this.next = this.tickets.values();
      found = this.next.next();
    }
    const ticket = found.value as PacedTicket;
    this.tickets.delete(ticket);
    return ticket;
  }
}
