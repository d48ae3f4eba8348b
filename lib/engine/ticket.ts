import type { TimerQueue, TimerEntry } from '../common/timer-queue.js';
import type { Clock } from '../common/clock.js';
import { LockStoreError, type LockError } from '../errors/index.js';
import type { AcquireReply, AcquireRequest, ContendedReply, HeldReply, PushedGrant } from '../store/lock-store.js';
import { acquireRequest, type RequestEnvironment, type TicketTerms } from './acquire-request.js';
import type { Grant } from './hold.js';
import { tooManyPermits } from './too-many-permits.js';
import { upgradeRefused } from './upgrade.js';
import { elapsedSince, validUntil } from './validity.js';

/** After a failure of the store a waiter asks again after this many ms, and up to twice as many. */
const RETRY = 50;

/** What a ticket needs from its surroundings. */
export interface TicketEnvironment extends RequestEnvironment {
  readonly clock: Clock;
  readonly timers: TimerQueue;
  /** An id that nobody has had. */
  nextId(): string;
  /** The ticket is to hear of pushes for its id, until `forget`. */
  expect(ticket: Ticket): void;
  forget(ticket: Ticket): void;
  /** What is granted under these ids of this client, and not known to it, is released; behind a release under way. */
  disown(key: string, ids: readonly string[]): void;
  /** The same for ids that an answer names as holders. What is being released was named before that took effect. */
  disownHolders(key: string, holders: readonly string[]): void;
  /** Sends what nobody waits for: a leave. */
  leave(key: string, id: string, remember: number): void;
}

/** The one for whom the ticket stands in the queue. */
export interface TicketHolder {
  granted(ticket: Ticket, grant: Grant): void;
  /** Not free: the ticket has a place now, or (`waits: false`) it is over. */
  contended(ticket: Ticket): void;
  /** The store has failed for too long, or will never grant this; the ticket is over. */
  failed(ticket: Ticket, error: LockError): void;
}

/** An answer of 'queued', and when its question was sent: what a pushed grant is measured by. */
interface Base {
  readonly sent: number;
  readonly epoch: number;
  readonly time: number;
  readonly lastToken: number;
}

/**
 * One acquisition on its way: asks the store, keeps its place by asking again when told to, and decides whether a
 * pushed grant may be believed. Ends with `granted`, `failed`, or a leave.
 */
export class Ticket {
  readonly id: string;
  private terms: TicketTerms;
  private over = false;
  private asking = 0;
  /** The store's epoch at the first question; `undefined`: nothing has been asked yet. */
  private firstEpoch: number | undefined;
  /** Answers to what was sent before this do not count: a grant was revoked since. */
  private countsFrom = 0;
  private base: Base | undefined;
  /** A push that came before the answer by which it could be measured. */
  private early: PushedGrant | undefined;
  private askAgain: TimerEntry | undefined;
  private failingSince: number | undefined;
  private told = false;
  private yields = false;

  constructor(
    private readonly environment: TicketEnvironment,
    terms: TicketTerms,
    private readonly holder: TicketHolder,
  ) {
    this.id = environment.nextId();
    this.terms = terms;
    environment.expect(this);
  }

  /** Whether the store has said nothing at all yet. */
  get isUnanswered(): boolean {
    return this.lastError === undefined && this.base === undefined && this.asking > 0;
  }
  /** The failure of the last question, if the store has not answered since. */
  lastError: LockStoreError | undefined;

  /** What is sent to the store to ask for the lock. */
  request(): AcquireRequest {
    return acquireRequest(this.environment, this.id, this.terms);
  }

  /** Asks the store now. */
  ask(): void {
    const { store, clock } = this.environment;
    const sent = clock.now();
    const { epoch } = store;
    if (store.unreachable === undefined) this.askedBy(store.acquire(this.request()), sent, epoch);
    else this.unanswered(store.unreachable, sent);
  }

  /** The question has been sent, alone or along with a release, and not before `sent`. */
  askedBy(answer: Promise<AcquireReply>, sent: number, epoch: number): void {
    this.asking += 1;
    this.firstEpoch ??= epoch;
    answer.then(
      (reply) => {
        this.asking -= 1;
        this.answered(reply, sent, epoch);
      },
      (error: LockStoreError) => {
        this.asking -= 1;
        this.unanswered(error, sent);
      },
    );
  }

  /** The next waiter takes the place over, with a lease of its own. */
  inherit(terms: TicketTerms): void {
    const changed = terms.lease !== this.terms.lease;
    this.terms = terms;
    if (changed) this.ask();
  }

  /** Gives the place up, or the hold if it has come to that meanwhile. */
  leave(): void {
    if (this.over) return;
    this.finish();
    if (this.firstEpoch === undefined) return;
    const { environment, terms } = this;
    // A refusal is an answer; only what may be executed yet has to be remembered, or once more after a reconnect.
    const resent = this.firstEpoch !== environment.store.epoch;
    const unanswered = resent || this.asking > 0 || this.lastError?.transient === true;
    environment.leave(terms.key, this.id, unanswered ? 2 * environment.commandTimeout : 0);
  }

  /** The store pushed a grant for this ticket. */
  pushed(grant: PushedGrant): void {
    if (this.over) return;
    const { clock, store } = this.environment;
    const now = clock.now();
    const base = this.base;
    if (base !== undefined && base.epoch === store.epoch && grant.token > base.lastToken) {
      // Counted from the sending of the question that was answered at the server's `base.time`, never from an arrival.
      const from = Math.min(elapsedSince(base.sent, grant.time - base.time), now);
      if (validUntil(from, grant.lease) - now > grant.lease / 2) {
        this.granted(grant, from, base.epoch);
        return;
      }
    }
    // An answer that is on its way may be the measure of this push, or the grant itself.
    if (this.asking > 0 && this.early === undefined) this.early = grant;
    else this.ask();
  }

  /** Word of somebody behind it may be here before word of the grant itself. */
  yield(): void {
    this.yields = true;
  }

  /** A grant of which this ticket has not heard yet was ended by force; an answer on its way may be that grant. */
  revoked(): void {
    if (this.over) return;
    this.countsFrom = this.environment.clock.now();
    this.base = undefined;
    this.early = undefined;
    this.ask();
  }

  /** The store said to ask in `delay` ms. */
  askIn(delay: number): void {
    if (this.over) return;
    const at = this.environment.clock.now() + delay;
    if (this.askAgain === undefined || this.askAgain.place < 0 || at < this.askAgain.at) this.askAt(at);
  }

  private answered(reply: AcquireReply, sent: number, epoch: number): void {
    if (this.over) {
      // What has been left or given back since must not be kept, in case the question was executed after that.
      if (reply.outcome === 'held' || reply.outcome === 'queued') this.environment.disown(this.terms.key, [this.id]);
      return;
    }
    if (sent < this.countsFrom) return;
    this.failingSince = undefined;
    this.lastError = undefined;
    switch (reply.outcome) {
      case 'held':
        this.granted(reply, sent, epoch);
        break;
      case 'left':
        this.refused(new LockStoreError('the acquisition was given up', { key: this.terms.key }));
        break;
      case 'upgrade':
        this.refused(upgradeRefused(this.terms.key));
        break;
      case 'too many':
        this.refused(tooManyPermits(this.terms, reply.limit));
        break;
      case 'queued':
      case 'busy':
        this.contended(reply, sent, epoch);
    }
  }

  private contended(reply: ContendedReply, sent: number, epoch: number): void {
    this.environment.disownHolders(this.terms.key, reply.holders);
    if (!this.told) {
      this.told = true;
      if (!this.terms.waits) this.finish();
      this.holder.contended(this);
      if (this.over) return;
    }
    if (reply.outcome === 'queued' && epoch === this.environment.store.epoch) {
      this.base = { sent, epoch, time: reply.time, lastToken: reply.lastToken };
    }
    this.askAt(this.environment.clock.now() + reply.askIn);
    const early = this.early;
    this.early = undefined;
    if (early !== undefined) this.pushed(early);
  }

  private unanswered(error: LockStoreError, sent: number): void {
    if (this.over) return;
    const { clock, commandTimeout, random } = this.environment;
    this.failingSince ??= sent;
    this.lastError = error;
    const now = clock.now();
    // Only if the next question comes within the time: on a dead connection each of them takes all of it.
    if (error.transient && this.terms.waits && now + RETRY - this.failingSince < commandTimeout) {
      this.askAt(now + RETRY * (1 + random()));
      return;
    }
    this.leave();
    this.holder.failed(this, error);
  }

  /** It will never be granted. */
  private refused(error: LockError): void {
    this.finish();
    this.holder.failed(this, error);
  }

  private granted({ token, lease, turns }: HeldReply | PushedGrant, from: number, restsOn: number): void {
    this.finish();
    // A question on its way makes a pushed grant a full lease.
    const longest = this.asking > 0 ? Math.max(lease, this.terms.lease) : lease;
    // Somebody waits behind it who is to be served in the order in which all came.
    const alone = this.yields ? 1 : turns;
    const epoch = this.firstEpoch ?? restsOn;
    this.holder.granted(this, { id: this.id, token, lease, longest, turns: alone, from, epoch, restsOn });
  }

  private askAt(at: number): void {
    const { timers } = this.environment;
    if (this.askAgain === undefined) this.askAgain = timers.add(at, () => this.ask());
    else timers.move(this.askAgain, at);
  }

  private finish(): void {
    this.over = true;
    this.environment.timers.cancel(this.askAgain);
    this.environment.forget(this);
  }
}
