import { LinkedList, type Linked } from '../common/linked-list.js';
import { inSlices } from '../common/slices.js';
import { TransientMap } from '../common/transient.js';
import type { LockStoreError } from '../errors/index.js';
import type { LockStore, PushedGrant } from '../store/lock-store.js';
import type { IdTable } from './orphans.js';

/** How many tickets at the front of a line ask as often as a ticket that is alone. */
const FRONT = 32;
/** With more tickets than this, a client asks for each of them less often. */
const ASKED_OFTEN = 10_000;
/** At most so many times less often. A period stays shorter than `FOLLOWER_PERIOD`: it ends early if a lease ends. */
const SLOWEST = 7;
/** With more tickets than this, a client repeats failed questions later. */
const RETRIED_OFTEN = 1_000;
/** While so many questions are unanswered, no other ticket asks. */
const MOST_UNANSWERED = 500;

/** What the table of tickets needs of a ticket, and what the messages of the store tell it. */
export interface TicketInTable extends Linked<TicketInTable> {
  readonly id: string;
  readonly key: string;
  /** Whether it may stand in a line. */
  readonly keepsOrder: boolean;
  /** Whether it has asked nothing yet. */
  readonly isNew: boolean;
  line: TicketLine | undefined;
  /** Whether the ticket stands behind the front of its line: it asks seldom. */
  follows: boolean;
  /** Asks as often as a ticket that is alone, once. */
  askSoon(): void;
  /** Asks now. */
  ask(): void;
  pushed(grant: PushedGrant): void;
  retryAfter(delay: number): void;
  revoked(): void;
  yield(): void;
}

/**
 * What this client is acquiring: the tickets by id, and the one budget of their requests.
 *
 * - Very many waiters for one key: of the tickets that each have a place of their own in the store's queue, the first 32 ask
 *   often and the others seldom (`TicketLine`). 10,000 waiters send at most 300 requests a second.
 * - Very many keys: with more than 10,000 tickets, each asks less often (`slowness`). 100,000 keys send at most 4,000
 *   requests a second.
 * - At most 500 requests are unanswered (`askInTurn`). The others follow as answers arrive, new tickets first: a new request is not
 *   behind the repetitions. Requests that wait in Redis behind very many others would fail after `commandTimeout`.
 * - A failed request is repeated (`StorePoll`), later if there are more than 1,000 tickets (`patience`). If the store has
 *   answered nothing since, all tickets ask soon (`doubt`): waiters learn of a failure as early as if there were few of them.
 */
export class Tickets implements IdTable {
  /** Ids of acquisitions that were sent together, for several keys in one step. */
  readonly setIds = new Set<string>();
  private readonly byId = new TransientMap<string, TicketInTable>();
  /** Tickets with places of their own, by key. */
  private readonly lines = new TransientMap<string, TicketLine>();
  private unanswered = 0;
  private answeredAt = -Infinity;
  private doubtsUntil = -Infinity;
  /** Why the store has not answered the latest question that has failed, unless it has answered another one since. */
  private silence: LockStoreError | undefined;
  /** Tickets that have to ask, each once: new tickets go before tickets that have asked before. */
  private readonly fresh = new Backlog();
  private readonly repeated = new Backlog();

  constructor(
    private readonly store: Pick<LockStore, 'mayKeepPlaces' | 'isPartitioned'>,
    private readonly front = FRONT,
  ) {}

  get(id: string): TicketInTable | undefined {
    return this.byId.get(id);
  }

  has(id: string): boolean {
    return this.byId.has(id) || this.setIds.has(id);
  }

  /** `key`: of a ticket that may be one of several of this client for a key. */
  add(ticket: TicketInTable, key: string | undefined): void {
    this.byId.set(ticket.id, ticket);
    if (key === undefined || !ticket.keepsOrder) return;
    let line = this.lines.get(key);
    if (line === undefined) this.lines.set(key, (line = new TicketLine(this.front)));
    line.join(ticket);
  }

  remove(ticket: TicketInTable, key: string): void {
    this.byId.delete(ticket.id);
    const { line } = ticket;
    if (line === undefined) return;
    line.leave(ticket);
    if (line.isEmpty) this.lines.delete(key);
  }

  /** By how many times less often than a single ticket each ticket asks. */
  get slowness(): number {
    const { mayKeepPlaces, isPartitioned } = this.store;
    if (mayKeepPlaces || isPartitioned) return 1;
    return Math.min(Math.max(1, this.byId.size / ASKED_OFTEN), SLOWEST);
  }

  /** By how many times later than that of a single ticket each failed question is repeated. */
  get patience(): number {
    return Math.max(1, this.byId.size / RETRIED_OFTEN);
  }

  /** Why a question is of no use now: very many are unanswered, and the store answers none. */
  get trouble(): LockStoreError | undefined {
    return this.isFull ? this.silence : undefined;
  }

  /** Has a ticket ask, behind the tickets of its kind before it: now, unless very many questions are unanswered. */
  askInTurn(ticket: TicketInTable): void {
    const isFirst = this.fresh.size === 0 && (this.repeated.size === 0 || ticket.isNew);
    if ((isFirst && !this.isFull) || this.trouble !== undefined) ticket.ask();
    else (ticket.isNew ? this.fresh : this.repeated).add(ticket);
  }

  /** Has all tickets ask, or those of the keys that `concerns` accepts. */
  askForAll(concerns?: (key: string) => boolean): void {
    const tickets = this.byId.values();
    void inSlices(concerns === undefined ? tickets : tickets.filter(({ key }) => concerns(key)), (ticket) =>
      this.askInTurn(ticket),
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
    if (this.fresh.size + this.repeated.size === 0) return;
    if (now !== undefined) this.askNextFew();
    // If the store refuses at once, very many questions would fail without a break for the event loop.
    else setImmediate(() => this.askNextFew());
  }

  /** A question of `sent` has failed. If the store has answered nothing since, all tickets ask soon, once within `period` ms. */
  doubt(error: LockStoreError, now: number, sent: number, period: number): void {
    if (this.byId.size <= RETRIED_OFTEN || this.answeredAt >= sent) return;
    this.silence = error;
    if (now < this.doubtsUntil) return;
    this.doubtsUntil = now + period;
    void inSlices(Array.from({ length: this.fresh.size + this.repeated.size }), () => this.askNext());
    void inSlices(this.byId.values(), (ticket) => ticket.askSoon());
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
    if (ticket !== undefined && this.byId.get(ticket.id) === ticket) ticket.ask();
    return ticket !== undefined;
  }
}

/**
 * The tickets of this client for one key that each have a place of their own in the store's queue, in the order of their
 * requests. Each place is kept by asking again, which also detects a lost grant, a crashed holder and a failure of the
 * store. The store grants in the same order, so a lost grant concerns the front first. Therefore the tickets at the front
 * ask often, and the others seldom. Thousands of waiters then cost the store few commands.
 */
export class TicketLine {
  private readonly tickets = new LinkedList<TicketInTable>();
  private lastAtFront: TicketInTable | undefined;
  private atFront = 0;
  private doubtsUntil = -Infinity;

  constructor(private readonly front: number) {}

  get isEmpty(): boolean {
    return this.tickets.first === undefined;
  }

  join(ticket: TicketInTable): void {
    this.tickets.append(ticket);
    ticket.line = this;
    ticket.follows = this.atFront === this.front;
    if (!ticket.follows) this.extendFront(ticket);
  }

  leave(ticket: TicketInTable): void {
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

  private get firstBehind(): TicketInTable | undefined {
    return this.lastAtFront === undefined ? this.tickets.first : this.lastAtFront.behind;
  }

  private extendFront(ticket: TicketInTable): void {
    this.lastAtFront = ticket;
    this.atFront += 1;
  }
}

/** Tickets in the order in which they were added, each once. */
class Backlog extends Set<TicketInTable> {
  /** Continues where it has stopped: a new iterator would pass all tickets that were taken. */
  private next = this.values();

  take(): TicketInTable | undefined {
    let { value: ticket } = this.next.next();
    if (ticket === undefined) {
      // An iterator that has reached the end stays there.
      this.next = this.values();
      if (this.size > 0) ({ value: ticket } = this.next.next());
    }
    if (ticket !== undefined) this.delete(ticket);
    return ticket;
  }
}
