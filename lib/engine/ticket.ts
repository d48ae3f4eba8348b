import type { Clock } from '../common/clock.js';
import { LinkedList, type Linked } from '../common/linked-list.js';
import { inSlices } from '../common/slices.js';
import { TransientMap } from '../common/transient.js';
import type { LockError, LockStoreError } from '../errors/index.js';
import type {
  AcquireReply,
  AcquireRequest,
  ContendedReply,
  HeldReply,
  LockStore,
  PushedGrant,
} from '../store/lock-store.js';
import { acquireRequest, retryPeriod, type Places } from './hold-terms.js';
import type { EngineContext } from './engine-context.js';
import type { Grant, HoldTerms } from './hold.js';
import type { IdTable, Orphans } from './orphans.js';
import type { Releases } from './releases.js';
import { StorePoll, type RequestBudget } from './store-poll.js';
import { refusedForever } from './refusals.js';
import { elapsedSince, validUntil } from './lease-view.js';

/** How many tickets at the front of a line ask as often as a ticket that is alone. */
const FRONT = 32;
/** With more tickets than this, a client asks for each of them less often. */
const ASKED_OFTEN = 10_000;
/** At most so many times less often. A period stays shorter than `FOLLOWER_PERIOD`: it ends early if a lease ends. */
const SLOWEST = 7;
/** With more tickets than this, a client repeats failed requests later. */
const RETRIED_OFTEN = 1_000;
/** While so many requests are unanswered, no other ticket asks. */
const MOST_UNANSWERED = 500;

/** What a ticket reports to the queue for which it stands in the store. */
export interface TicketListener {
  /** The store has granted the lock. The ticket is over. */
  granted(grant: Grant): void;
  /**
   * The lock is not free: the ticket has a place in the store's queue, or it is over if it does not wait. `isSplit`: no
   * other client holds it either.
   */
  contended(isSplit: boolean): void;
  /**
   * What keeps this one try from the lock is a release of this client that the store had not executed yet. The ticket is over:
   * the next request needs another id, because Redlock may still release the votes of this one.
   */
  outdated(released: Promise<unknown>): void;
  /** The store has failed for too long, or will never grant this request. The ticket is over. */
  failed(error: LockError): void;
}

/** What a ticket asks and leaves with. */
export interface TicketParts {
  readonly context: EngineContext;
  readonly releases: Pick<Releases, 'leave'>;
  readonly orphans: Pick<Orphans, 'release' | 'releaseHolders'>;
  readonly tickets: Tickets;
}

/** The clocks at a reply of 'queued'. A pushed grant is measured by them. */
interface Reference {
  readonly sent: number;
  readonly epoch: number;
  /** The server's clock. */
  readonly time: number;
  readonly lastToken: number;
}

/**
 * One acquisition on its way: tries to acquire the lock or a place in the store's queue, keeps the place by asking again,
 * and decides whether a pushed grant is certain. Reports every result to its listener, never within a call of the listener.
 */
export class Ticket extends StorePoll<AcquireReply> implements Linked<Ticket> {
  readonly id: string;
  /** The line of the tickets for its key, and the neighbours in it. */
  list: object | undefined;
  before: Ticket | undefined;
  behind: Ticket | undefined;
  /** Whether it stood behind the front of its line at the latest request, which said that it asks seldom. */
  asksSeldom = false;
  private reference: Reference | undefined;
  /** A push that arrived before the reply by which it can be measured. */
  private early: PushedGrant | undefined;
  private isContended = false;
  /** Ids of holders in the latest reply; `undefined`: no reply has said that the lock is not free. */
  holders: readonly string[] | undefined;
  private yields = false;

  constructor(
    private readonly parts: TicketParts,
    readonly key: string,
    /** What its first waiter asks for. */
    private terms: HoldTerms,
    private places: Places,
    private readonly listener: TicketListener,
  ) {
    const { context, tickets } = parts;
    super(context, places.waits ? context.limits.commandTimeout : 0, tickets);
    this.id = context.identity.nextId(terms);
  }

  /** Whether the store has not replied at all. The ticket may not even have been sent. */
  get isUnanswered(): boolean {
    return this.error === undefined && this.reference === undefined && (this.isAsking || this.isNew);
  }

  /** The request that asks the store for the lock. */
  request(): AcquireRequest {
    const { tickets } = this.parts;
    this.asksSeldom = this.before !== undefined && tickets.isBehindFront(this);
    const pace = this.asksSeldom ? 'seldom' : tickets.slowness;
    return acquireRequest(this.context, this.key, this.id, this.terms, this.places, pace);
  }

  /** Asks as often as a ticket that is alone, once. */
  askSoon(): void {
    // A reply that is under way sets the time of the next request.
    if (!this.isAsking && !this.isNew) this.retryAfter(this.period);
  }

  /** Whether it has asked nothing yet. */
  get isNew(): boolean {
    return this.firstEpoch === undefined;
  }

  /** Asks the store behind the tickets that came before it (`Tickets.askInTurn`, then `ask`). One try goes out now. */
  override run(): void {
    if (this.places.waits) this.parts.tickets.askInTurn(this);
    else this.ask();
  }

  /** Hands the place to the next waiter, with its own lease. */
  inherit(terms: HoldTerms, places: Places): void {
    const changed = terms.lease !== this.terms.lease;
    this.terms = terms;
    this.places = places;
    if (changed) this.ask();
  }

  /** Gives up the place, or the hold if the store has granted it meanwhile. */
  leave(): void {
    if (this.isOver) return;
    this.stop();
    if (this.isNew) return;
    const { store, limits, clock } = this.context;
    // A refusal is a reply. A tombstone is only for requests that may still be executed, or again after a reconnect.
    const isResent = this.firstEpoch !== store.epoch;
    const isUnanswered = isResent || this.isAsking || this.error?.transient === true;
    const tombstone = isUnanswered ? 2 * limits.commandTimeout : 0;
    this.parts.releases.leave(this.key, this.id, tombstone, clock.now() + this.terms.lease);
  }

  /** The store has pushed a grant for this ticket. */
  pushed(grant: PushedGrant): void {
    if (this.isOver) return;
    const { clock, store } = this.context;
    const now = clock.now();
    const { reference } = this;
    if (reference !== undefined && reference.epoch === store.epoch && grant.token > reference.lastToken) {
      // Counted from the sending of the request that the server replied to at `reference.time`, never from an arrival.
      const from = Math.min(elapsedSince(reference.sent, grant.time - reference.time), now);
      if (validUntil(from, grant.lease) - now > grant.lease / 2) {
        this.granted(grant, from, reference.epoch);
        return;
      }
    }
    // The reply that is under way may be the reference of this push, or the grant itself.
    if (this.isAsking && this.early === undefined) this.early = grant;
    else this.ask();
  }

  /** Another client waits. This message may arrive before the grant that it is about. */
  yield(): void {
    this.yields = true;
  }

  /** A grant of which this ticket does not know yet was ended by force. A reply under way may be that grant. */
  revoked(): void {
    if (this.isOver) return;
    this.ignoreEarlier();
    this.reference = undefined;
    this.early = undefined;
    this.ask();
  }

  /** The store wants to be asked in `delay` ms. */
  retryAfter(delay: number): void {
    if (!this.isOver) this.askBy(this.context.clock.now() + delay);
  }

  protected override send(): Promise<AcquireReply> {
    return this.context.store.acquire(this.request());
  }

  protected override replied(reply: AcquireReply, sent: number, epoch: number): void {
    if (this.isOver) {
      // The store may have executed the request behind the leave or the release.
      if (reply.outcome === 'held' || reply.outcome === 'queued') this.parts.orphans.release(this.key, [this.id]);
      return;
    }
    if (reply.outcome === 'held') return this.granted(reply, sent, epoch);
    if (reply.outcome === 'queued' || reply.outcome === 'busy') return this.contended(reply, sent, epoch);
    this.stop();
    this.listener.failed(refusedForever(this.key, this.terms.mode, reply));
  }

  protected override faltered(error: LockStoreError, sent: number): void {
    this.parts.tickets.doubt(this, error, sent);
  }

  protected override failed(error: LockStoreError): void {
    this.leave();
    this.listener.failed(error);
  }

  private contended(reply: ContendedReply, sent: number, epoch: number): void {
    this.holders = reply.holders;
    const released = this.parts.orphans.releaseHolders(this.key, reply.holders);
    if (!this.places.waits && released !== undefined) {
      this.stop();
      this.listener.outdated(released);
      return;
    }
    const wasContended = this.isContended;
    this.isContended ||= reply.isSplit !== true;
    if (!wasContended) {
      if (!this.places.waits) this.stop();
      this.listener.contended(reply.isSplit === true);
      if (this.isOver) return;
    }
    const { clock, store, identity } = this.context;
    const now = clock.now();
    identity.cover(now, this.terms.lease);
    if (reply.outcome === 'queued' && epoch === store.epoch) {
      this.reference = { sent, epoch, time: reply.time, lastToken: reply.lastToken };
    }
    this.askAt(now + reply.retryAfter);
    // Meanwhile the ticket may have come to the front of its line.
    if (this.asksSeldom && !this.parts.tickets.isBehindFront(this)) this.retryAfter(this.period);
    const { early } = this;
    this.early = undefined;
    if (early !== undefined) this.pushed(early);
  }

  /** In how many ms it asks again at the latest, if it is alone. */
  get period(): number {
    return retryPeriod(this.context, this.terms.lease);
  }

  private granted(grant: HeldReply | PushedGrant, from: number, restsOn: number): void {
    this.stop();
    const { token, lease, batchSize } = grant;
    // A request that is under way makes a pushed grant a full lease.
    const longest = this.isAsking ? Math.max(lease, this.terms.lease) : lease;
    const epoch = this.isAsking ? undefined : this.firstEpoch;
    // If a fair request waits behind it, the grant is for one waiter.
    this.listener.granted({
      id: this.id,
      token,
      lease,
      longest,
      batchSize: this.yields ? 1 : batchSize,
      yields: this.yields,
      from,
      epoch,
      restsOn,
      units: 'units' in grant ? grant.units : undefined,
    });
  }
}

/**
 * What this client is acquiring: the tickets by id, and the one budget of their requests.
 *
 * - Very many waiters for one key: of the tickets that each have a place of their own in the store's queue, the first 32 ask
 *   often and the others seldom (`TicketLine`). 10,000 waiters send at most 300 requests a second.
 * - Very many keys: with more than 10,000 tickets, each asks less often (`slowness`). 100,000 keys send at most 4,000
 *   requests a second.
 * - At most 500 requests are unanswered (`askInTurn`). The others follow as replies arrive, new tickets first: a new request
 *   is not behind the repetitions. Requests that wait in Redis behind very many others would fail after `commandTimeout`.
 * - A failed request is repeated (`StorePoll`), later if there are more than 1,000 tickets (`patience`). If the store has
 *   replied to nothing since, all tickets ask soon (`doubt`): waiters learn of a failure as early as if there were few of them.
 */
export class Tickets implements IdTable, RequestBudget {
  /** Ids of acquisitions that were sent together, for several keys in one step. */
  readonly setIds = new Set<string>();
  private readonly byId = new TransientMap<string, Ticket>();
  /** Tickets with places of their own, by key. */
  private readonly lines = new TransientMap<string, TicketLine>();
  private unanswered = 0;
  private repliedAt = -Infinity;
  private doubtsUntil = -Infinity;
  /** Why the latest request that has failed has no reply, unless the store has replied to another one since. */
  private silence: LockStoreError | undefined;
  /** Tickets that have to ask, each once: new tickets go before tickets that have asked before. */
  private readonly fresh = new Backlog();
  private readonly repeated = new Backlog();
  /** Whether tickets stand in lines. */
  private readonly hasLines: boolean;
  private readonly mostUnanswered: number;
  private readonly askedOften: number;

  constructor(
    private readonly clock: Clock,
    { mayKeepPlaces, isPartitioned }: Pick<LockStore, 'mayKeepPlaces' | 'isPartitioned'>,
    private readonly front = FRONT,
  ) {
    this.hasLines = mayKeepPlaces !== true;
    // The requests to a master that does not reply must not keep those to others.
    this.mostUnanswered = isPartitioned === true ? Infinity : MOST_UNANSWERED;
    this.askedOften = mayKeepPlaces === true || isPartitioned === true ? Infinity : ASKED_OFTEN;
  }

  get(id: string): Ticket | undefined {
    return this.byId.get(id);
  }

  has(id: string): boolean {
    return this.byId.has(id) || this.setIds.has(id);
  }

  /** `inLine`: whether it may be one of several of this client for its key, which the store grants in their order. */
  add(ticket: Ticket, inLine: boolean): void {
    const { id, key } = ticket;
    this.byId.set(id, ticket);
    if (!inLine || !this.hasLines) return;
    let line = this.lines.get(key);
    if (line === undefined) this.lines.set(key, (line = new TicketLine()));
    line.append(ticket);
  }

  remove(ticket: Ticket): void {
    const { id, key, list } = ticket;
    this.byId.delete(id);
    if (list === undefined) return;
    const line = this.lines.get(key)!;
    line.remove(ticket);
    if (line.first === undefined) this.lines.delete(key);
    // The last ticket at the front. It may have come there just now.
    let next = line.first;
    for (let i = 1; i < this.front && next !== undefined; i++) next = next.behind;
    if (next?.asksSeldom === true) next.askSoon();
  }

  /** Whether the front of its line stands before a ticket. */
  isBehindFront({ before }: Ticket): boolean {
    for (let i = 1; i < this.front && before !== undefined; i++) ({ before } = before);
    return before !== undefined;
  }

  /** By how many times less often than a single ticket each ticket asks. */
  get slowness(): number {
    return Math.min(Math.max(1, this.byId.size / this.askedOften), SLOWEST);
  }

  /** By how many times later than that of a single ticket each failed request is repeated. */
  get patience(): number {
    return Math.max(1, this.byId.size / RETRIED_OFTEN);
  }

  /** Why a request is of no use now: very many are unanswered, and the store replies to none. */
  get trouble(): LockStoreError | undefined {
    return this.unanswered < this.mostUnanswered ? undefined : this.silence;
  }

  /** Has a ticket ask, behind the tickets of its kind before it: now, unless very many requests are unanswered. */
  askInTurn(ticket: Ticket): void {
    const isFirst = this.fresh.size === 0 && (this.repeated.size === 0 || ticket.isNew);
    if ((isFirst && this.unanswered < this.mostUnanswered) || this.trouble !== undefined) ticket.ask();
    else (ticket.isNew ? this.fresh : this.repeated).add(ticket);
  }

  /** Has all tickets ask, or those of the keys that `concerns` accepts. */
  askForAll(concerns?: (key: string) => boolean): void {
    const tickets = this.byId.values();
    void inSlices(concerns === undefined ? tickets : tickets.filter(({ key }) => concerns(key)), (ticket) =>
      this.askInTurn(ticket),
    );
  }

  /** A request is under way. */
  sent(): void {
    this.unanswered += 1;
  }

  /** A reply has come at `now`, or the request has failed (`undefined`). */
  settled(now: number | undefined): void {
    this.unanswered -= 1;
    if (now !== undefined) {
      this.repliedAt = now;
      this.silence = undefined;
    }
    if (this.fresh.size + this.repeated.size === 0) return;
    if (now !== undefined) this.askNextFew();
    // If the store refuses at once, very many requests would fail without a break for the event loop.
    else setImmediate(() => this.askNextFew());
  }

  /**
   * A request of `sent` has failed, and others may fail, too: its line asks soon, and all of very many tickets do if the store
   * has replied to nothing since. Once within a period.
   */
  doubt({ key, list, period }: Ticket, error: LockStoreError, sent: number): void {
    const now = this.clock.now();
    const line = list === undefined ? undefined : this.lines.get(key);
    if (line !== undefined && now >= line.doubtsUntil) {
      line.doubtsUntil = now + period;
      for (let ticket = line.first; ticket !== undefined; ticket = ticket.behind) ticket.askSoon();
    }
    if (this.byId.size <= RETRIED_OFTEN || this.repliedAt >= sent) return;
    this.silence = error;
    if (now < this.doubtsUntil) return;
    this.doubtsUntil = now + period;
    void inSlices(Array.from({ length: this.fresh.size + this.repeated.size }), () => this.askNext());
    void inSlices(this.byId.values(), (ticket) => ticket.askSoon());
  }

  private askNextFew(): void {
    while (this.unanswered < this.mostUnanswered && this.askNext());
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
class TicketLine extends LinkedList<Ticket> {
  doubtsUntil = -Infinity;
}

/** Tickets in the order in which they were added, each once. */
class Backlog extends Set<Ticket> {
  /** Continues where it has stopped: a new iterator would pass all tickets that were taken. */
  private next = this.values();

  take(): Ticket | undefined {
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
