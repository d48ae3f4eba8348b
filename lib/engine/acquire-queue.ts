import { LinkedList } from '../common/linked-list.js';
import { LockStoreError, type LockError } from '../errors/index.js';
import { TURNS_ALONE } from '../store/lock-store.js';
import type { TicketTerms } from './acquire-request.js';
import type { EventPublisher } from './event-publisher.js';
import type { Grant, Hold, HoldTerms } from './hold.js';
import { Ticket, type TicketEnvironment, type TicketHolder } from './ticket.js';
import { validUntil } from './validity.js';
import type { Waiter } from './waiter.js';

/** How long a client may keep a key among its own before it goes on to others. */
export interface BatchLimits {
  /** How many of them have it in turn; 1: each asks the store. */
  readonly most: number;
  /** ms */
  readonly time: number;
}

/** What a local queue needs from its surroundings. */
export interface AcquireQueueEnvironment extends TicketEnvironment {
  readonly localTurns: BatchLimits;
  readonly publisher: EventPublisher;
  /** Makes the hold of a grant and watches over it. */
  hold(queue: AcquireQueue, waiter: Waiter, grant: Grant): Hold;
  /** Makes the hold of a waiter that has it in turn after another one. */
  succeed(queue: AcquireQueue, previous: Hold, waiter: Waiter): Hold;
  /** Somebody has to wait, or (with `waitTimeout: 0`) cannot. */
  contended(queue: AcquireQueue, waiter: Waiter): void;
  /** The waiter is not in the queue any more. */
  dismiss(waiter: Waiter, reason: unknown): void;
  /** For how many ms it is to be remembered that a grant has been given back. */
  memoryFor(grant: Grant): number;
  /** There is nobody in the queue and nothing held through it. */
  emptied(queue: AcquireQueue): void;
}

/**
 * The waiters of this client for one key, first come first served, behind one ticket in the store: however many wait
 * here, the store sees one. While one of them holds the key the others wait for it without a ticket. They have it in
 * turn, each with a token of its own, for as long as the grant's turns and `localTurns` allow; then a release gives it on
 * and takes a place for the next of them in the same step (cohort locking: Dice, Marathe, Shavit).
 */
export class AcquireQueue implements TicketHolder {
  private readonly waiters = new LinkedList<Waiter>();
  private ticket: Ticket | undefined;
  private holding: Hold | undefined;
  /** Who found nobody here, and may have the key at once; all others were told that they wait when they came. */
  private hopeful: Waiter | undefined;
  /** How many more may have it under the grant that stands, and until when. */
  private turnsLeft = 0;
  private turnsEnd = 0;
  /** When the key was last known to be held. */
  private lastTaken = -Infinity;
  private overdue: Waiter[] = [];

  constructor(
    readonly key: string,
    private readonly environment: AcquireQueueEnvironment,
    /** Whether those who come wait; `false`: one try. */
    readonly waits: boolean,
    /** Whether several may come. */
    readonly isShared: boolean,
  ) {}

  /** The failure of the latest question, if the store has not answered since. */
  get trouble(): LockStoreError | undefined {
    return this.ticket?.lastError;
  }

  /**
   * Whether it is not known yet that others held the key while `waiter` waited. Without an answer to its ticket that is
   * known all the same once it has waited behind a holder of this client: the question that goes along with a release is a
   * new ticket's first one.
   */
  isUnanswered({ since }: Waiter): boolean {
    return this.lastTaken < since && this.ticket?.isUnanswered === true;
  }

  /** The time of a waiter is over; it is told so as soon as the store has answered. */
  awaitAnswer(waiter: Waiter): void {
    waiter.overdue = true;
    this.overdue.push(waiter);
  }

  join(waiter: Waiter): void {
    this.waiters.append(waiter);
    // One that has been lost says nothing of who has the key now.
    if (this.holding?.state === 'held') this.seenTaken();
    if (this.ticket === undefined && this.holding === undefined) {
      this.hopeful = waiter;
      this.openTicket()?.ask();
    } else {
      this.environment.contended(this, waiter);
    }
  }

  /** A waiter gives up; those behind it keep the place. */
  quit(waiter: Waiter): void {
    const wasFirst = this.waiters.first === waiter;
    if (!this.waiters.remove(waiter)) return;
    const { first } = this.waiters;
    if (first === undefined) this.closeTicket();
    else if (wasFirst) this.ticket?.inherit(this.termsOf(first));
  }

  /** Everybody who waits here is told `reason`. */
  dismissAll(reason: unknown): void {
    const waiters: Waiter[] = [];
    for (let waiter = this.waiters.first; waiter !== undefined; waiter = this.waiters.first) {
      this.waiters.remove(waiter);
      waiters.push(waiter);
    }
    this.closeTicket();
    for (const waiter of waiters) this.environment.dismiss(waiter, reason);
  }

  /**
   * The hold is about to be released. Answers the ticket of the next waiter, for whom the release is to ask in the same
   * step, if somebody waits.
   */
  releasing(hold: Hold): Ticket | undefined {
    if (this.holding !== hold) return undefined;
    this.holding = undefined;
    return this.openTicket();
  }

  /** Has a hold that is being released go on to the next waiter here, without a word to the store, if it may. */
  passOn(hold: Hold): boolean {
    const { first } = this.waiters;
    if (this.holding !== hold || first === undefined || !this.mayPassOn(hold, first)) return false;
    this.turnsLeft -= 1;
    const next = this.environment.succeed(this, hold, first);
    this.serve(first, next);
    // Observers may do anything, so all is in order before they hear of it.
    this.environment.publisher.released(hold);
    this.environment.publisher.acquired(next, first.since);
    return true;
  }

  /** Somebody waits for it who is to be served in the order in which all came, or it is released by force. */
  endTurns(): void {
    this.turnsLeft = 0;
  }

  /** The hold has ended without a release. */
  lost(hold: Hold): void {
    this.releasing(hold)?.ask();
  }

  granted(_ticket: Ticket, grant: Grant): void {
    this.ticket = undefined;
    const { first } = this.waiters;
    const lease = Math.min(grant.lease, first?.terms.lease ?? 0);
    if (first === undefined || validUntil(grant.from, lease) <= this.environment.clock.now()) {
      // Nobody wants it any more, or the answer came so late that the lease may be over.
      this.environment.leave(this.key, grant.id, this.environment.memoryFor(grant));
      if (this.waits) this.openTicket()?.ask();
      else this.dismissAll(this.tooLate(lease));
      return;
    }
    this.turnsLeft = grant.turns - 1;
    this.turnsEnd = this.environment.clock.now() + this.environment.localTurns.time;
    const hold = this.environment.hold(this, first, grant);
    this.serve(first, hold);
    this.environment.publisher.acquired(hold, first.since);
  }

  contended(): void {
    this.seenTaken();
    if (!this.waits) this.ticket = undefined;
    const { hopeful } = this;
    this.hopeful = undefined;
    if (hopeful !== undefined && this.waiters.has(hopeful)) this.environment.contended(this, hopeful);
  }

  failed(_ticket: Ticket, error: LockError): void {
    this.ticket = undefined;
    this.dismissAll(error);
  }

  private serve(waiter: Waiter, hold: Hold): void {
    this.waiters.remove(waiter);
    this.holding = hold;
    this.seenTaken();
    waiter.served(hold);
  }

  private mayPassOn(hold: Hold, next: Waiter): boolean {
    const { clock, store, grantTimeout } = this.environment;
    if (this.turnsLeft <= 0 || clock.now() >= this.turnsEnd || hold.ownerIsKnown) return false;
    // Without a connection, or behind one that was lost, nobody can be told to yield, nor that it was released by force.
    if (!store.listening || hold.epoch !== store.epoch) return false;
    return takesTurns(hold.terms) && takesTurns(next.terms) && hold.lastsFor(next.terms, grantTimeout);
  }

  private seenTaken(): void {
    const { clock, timers } = this.environment;
    this.lastTaken = clock.now();
    if (this.overdue.length === 0) return;
    // Not here: their callers and observers may do anything, and this is in the middle of something.
    for (const { deadline } of this.overdue.splice(0)) {
      if (deadline !== undefined && deadline.place >= 0) timers.move(deadline, this.lastTaken);
    }
  }

  private openTicket(): Ticket | undefined {
    const { first } = this.waiters;
    if (first === undefined) {
      this.closeTicket();
      return undefined;
    }
    this.ticket = new Ticket(this.environment, this.termsOf(first), this);
    return this.ticket;
  }

  private tooLate(lease: number): LockStoreError {
    const message = `Redis answered so late that the lease of '${this.key}' (${lease} ms) was over by then`;
    return new LockStoreError(message, { key: this.key, transient: true });
  }

  /** Nobody waits any more. */
  private closeTicket(): void {
    this.ticket?.leave();
    this.ticket = undefined;
    if (this.holding === undefined) this.environment.emptied(this);
  }

  private termsOf({ terms, behind }: Waiter): TicketTerms {
    const { mode, owner, lease, fair } = terms;
    const turns = this.isShared && takesTurns(terms) ? this.environment.localTurns.most : 1;
    const turnsAlone = turns > 1 && behind !== undefined ? TURNS_ALONE : turns;
    return { key: this.key, mode, owner, lease, waits: this.waits, turns, turnsAlone, fair };
  }
}

/** What the store has to do at each grant, or at each release, is not done for a turn that it does not hear of. */
const takesTurns = ({ replicas, holdAtLeast }: HoldTerms): boolean => replicas === undefined && holdAtLeast === 0;
