import type { LockError, LockStoreError } from '../errors/index.js';
import type { AcquireReply, AcquireRequest, ContendedReply, HeldReply, PushedGrant } from '../store/lock-store.js';
import { acquireRequest, retryPeriod, type Places } from './hold-terms.js';
import type { EngineContext } from './engine-context.js';
import type { Grant, HoldTerms } from './hold.js';
import type { Orphans } from './orphans.js';
import type { Releases } from './releases.js';
import { StorePoll } from './store-poll.js';
import type { TicketInTable, TicketLine, Tickets } from './tickets.js';
import { refusedForever } from './refusals.js';
import { elapsedSince, validUntil } from './lease-view.js';

/** What a ticket reports to the queue for which it stands in the store. */
export interface TicketListener {
  /** The store has granted the lock. The ticket is over. */
  granted(grant: Grant): void;
  /**
   * The lock is not free: the ticket has a place in the store's queue, or it is over if it does not wait. `isSplit`: no
   * other client holds it either.
   */
  contended(isSplit: boolean): void;
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

/** The clocks at an answer of 'queued'. A pushed grant is measured by them. */
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
export class Ticket extends StorePoll<AcquireReply> implements TicketInTable {
  readonly id: string;
  /** The line of the tickets for its key, and the neighbours in it. */
  line: TicketLine | undefined;
  list: object | undefined;
  before: TicketInTable | undefined;
  behind: TicketInTable | undefined;
  follows = false;
  private askedAsFollower = false;
  private reference: Reference | undefined;
  /** A push that arrived before the answer by which it can be measured. */
  private early: PushedGrant | undefined;
  private isContended = false;
  /** Ids of holders in the latest reply. */
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

  /** Whether the store has not answered at all. The ticket may not even have been sent. */
  get isUnanswered(): boolean {
    return this.error === undefined && this.reference === undefined && (this.isAsking || this.isNew);
  }

  /** The request that asks the store for the lock. */
  request(): AcquireRequest {
    this.askedAsFollower = this.follows;
    const { slowness } = this.parts.tickets;
    return acquireRequest(this.context, this.key, this.id, this.terms, this.places, {
      follows: this.follows,
      slowness,
    });
  }

  /** Whether it may stand in a line. A named owner that holds the key passes the queue, so its grants follow no order. */
  get keepsOrder(): boolean {
    return this.terms.owner === undefined && this.places.waits;
  }

  askSoon(): void {
    // A reply that is under way sets the time of the next question.
    if (!this.isAsking && !this.isNew) this.retryAfter(this.period);
  }

  get isNew(): boolean {
    return this.firstEpoch === undefined;
  }

  /** Asks the store behind the tickets that came before it (`Tickets.askInTurn`, then `ask`). One try goes out now. */
  override due(): void {
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
    const { store, limits } = this.context;
    // A refusal is an answer. A tombstone is only for questions that may still be executed, or again after a reconnect.
    const isResent = this.firstEpoch !== store.epoch;
    const isUnanswered = isResent || this.isAsking || this.error?.transient === true;
    this.parts.releases.leave(this.key, this.id, isUnanswered ? 2 * limits.commandTimeout : 0);
  }

  /** The store has pushed a grant for this ticket. */
  pushed(grant: PushedGrant): void {
    if (this.isOver) return;
    const { clock, store } = this.context;
    const now = clock.now();
    const { reference } = this;
    if (reference !== undefined && reference.epoch === store.epoch && grant.token > reference.lastToken) {
      // Counted from the sending of the question that the server answered at `reference.time`, never from an arrival.
      const from = Math.min(elapsedSince(reference.sent, grant.time - reference.time), now);
      if (validUntil(from, grant.lease) - now > grant.lease / 2) {
        this.granted(grant, from, reference.epoch);
        return;
      }
    }
    // The answer that is under way may be the reference of this push, or the grant itself.
    if (this.isAsking && this.early === undefined) this.early = grant;
    else this.ask();
  }

  /** Another client waits. This message may arrive before the grant that it is about. */
  yield(): void {
    this.yields = true;
  }

  /** A grant of which this ticket does not know yet was ended by force. An answer under way may be that grant. */
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
    const { trouble } = this.parts.tickets;
    return trouble === undefined ? this.context.store.acquire(this.request()) : Promise.reject(trouble);
  }

  protected override answered(reply: AcquireReply, sent: number, epoch: number): void {
    if (this.isOver) {
      // The store may have executed the question behind the leave or the release.
      if (reply.outcome === 'held' || reply.outcome === 'queued') this.parts.orphans.release(this.key, [this.id]);
      return;
    }
    if (reply.outcome === 'held') return this.granted(reply, sent, epoch);
    if (reply.outcome === 'queued' || reply.outcome === 'busy') return this.contended(reply, sent, epoch);
    this.stop();
    this.listener.failed(refusedForever(this.key, this.terms.mode, reply));
  }

  protected override faltered(error: LockStoreError, sent: number): void {
    const now = this.context.clock.now();
    this.line?.doubt(now, this.period);
    this.parts.tickets.doubt(error, now, sent, this.period);
  }

  protected override failed(error: LockStoreError): void {
    this.leave();
    this.listener.failed(error);
  }

  private contended(reply: ContendedReply, sent: number, epoch: number): void {
    this.holders = reply.holders;
    const released = this.parts.orphans.releaseHolders(this.key, reply.holders);
    if (!this.places.waits && released !== undefined) {
      // What keeps this one try from the key is a release of this client that the store had not executed yet.
      const answer = released.then(() => (this.isOver ? reply : this.send()));
      this.await(answer, this.context.clock.now(), this.context.store.epoch);
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
    if (this.askedAsFollower && !this.follows) this.retryAfter(this.period);
    const { early } = this;
    this.early = undefined;
    if (early !== undefined) this.pushed(early);
  }

  private get period(): number {
    return retryPeriod(this.context, this.terms.lease);
  }

  private granted(grant: HeldReply | PushedGrant, from: number, restsOn: number): void {
    this.stop();
    const { token, lease, batchSize } = grant;
    // A question that is under way makes a pushed grant a full lease.
    const longest = this.isAsking ? Math.max(lease, this.terms.lease) : lease;
    const epoch = this.isAsking ? undefined : (this.firstEpoch ?? restsOn);
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
