import { READING_TIME } from '../common/timer-queue.js';
import { LinkedList } from '../common/linked-list.js';
import { LockStoreError, LockTimeoutError, type LockError } from '../errors/index.js';
import { UNCONTENDED_BATCH_SIZE } from '../store/lock-store.js';
import type { TicketTerms } from './acquire-request.js';
import { answeredTooLate } from './answered-too-late.js';
import type { Grant, Hold, HoldTerms } from './hold.js';
import type { HoldRegistry } from './hold-registry.js';
import { LocalBatch, mayShareGrant } from './local-batch.js';
import type { PendingAcquisitions } from './pending-acquisitions.js';
import type { Releases } from './releases.js';
import { Ticket, type TicketListener, type TicketParts } from './ticket.js';
import { validUntil } from './validity.js';
import type { Waiter } from './waiter.js';

/** What queues acquire with. */
export interface AcquireParts extends TicketParts {
  readonly releases: Releases;
  readonly holds: HoldRegistry<AcquireQueue>;
  readonly pending: PendingAcquisitions<AcquireQueue>;
}

/** `shared`: all exclusive requests for a key. `separate`: a single request that waits. `one-try`: a single request without a wait. */
export type QueueKind = 'shared' | 'separate' | 'one-try';

/**
 * The waiters of this client for one key, first come, first served. However many wait here, the store sees one ticket.
 * While one of them holds the key, the others wait for it without a ticket: a release hands the lock to the next waiter as
 * long as the batch of the grant allows, then it goes to the store and takes a place for the next waiter in the same step
 * (cohort locking: Dice, Marathe, Shavit).
 */
export class AcquireQueue implements TicketListener {
  private readonly waiters = new LinkedList<Waiter>();
  private ticket: Ticket | undefined;
  /** Ids of the last holders that are known. For observers. */
  private lastHolders: readonly string[] | undefined;
  private holder: Hold | undefined;
  /** The waiter that found an empty queue and may get the key at once. All others were contended when they joined. */
  private newcomer: Waiter | undefined;
  private readonly batch: LocalBatch;
  /** When the key was last known to be held. */
  private lastHeld = -Infinity;
  /** The latest reply says that no client holds the key: requests of the same moment have split the masters. */
  private isSplit = false;
  private overdue: Waiter[] = [];
  private readonly holderLost = (hold: Hold): void => this.releasing(hold)?.tryAcquireOrEnqueue();

  constructor(
    readonly key: string,
    private readonly kind: QueueKind,
    private readonly parts: AcquireParts,
  ) {
    this.batch = new LocalBatch(parts.context);
  }

  /** Adds a waiter, and ends its wait at its deadline or with its signal. */
  join(waiter: Waiter, signal: AbortSignal | undefined): void {
    if (signal !== undefined) waiter.listenTo(signal, () => this.giveUp(waiter, signal.reason));
    // One try has nothing to wait for but the answer.
    waiter.endBy(this.waits ? waiter.since + waiter.waitTimeout : waiter.answerBy, () => this.timedOut(waiter));
    this.waiters.append(waiter);
    // A lost hold does not tell which client holds the lock now.
    if (this.holder?.state === 'held') this.seenHeld();
    if (this.ticket === undefined && this.holder === undefined) {
      this.newcomer = waiter;
      this.openTicket()?.due();
    } else {
      this.reportContended(waiter);
    }
  }

  /** Removes all waiters. The caller rejects them. */
  removeAll(): Waiter[] {
    const waiters = this.waiters.takeAll();
    this.closeTicket();
    return waiters;
  }

  /** Ends the batch: another client waits for the key, or it is released by force. */
  endBatch(): void {
    this.batch.end();
  }

  /** Ends a hold and hands it to the next waiter, if the batch allows; returns whether it did. */
  handOff(hold: Hold): boolean {
    const { first } = this.waiters;
    const next = first && this.passOn(hold, first.terms);
    if (first === undefined || next === undefined) return false;
    this.serve(first, next);
    this.publishHandoff(hold, next, first.since);
    return true;
  }

  /** Whether a caller that comes now could take a hold over: no other waits, and the batch allows one more. */
  mayBeTakenOver(hold: Hold): boolean {
    return this.holder === hold && this.waiters.first === undefined && this.batch.allows(hold, hold.terms);
  }

  /** Ends a hold and hands it to a caller that does not wait in this queue, if the batch allows. */
  takeOver(hold: Hold, terms: HoldTerms): Hold | undefined {
    const next = this.waiters.first === undefined ? this.passOn(hold, terms) : undefined;
    if (next === undefined) return undefined;
    this.heldBy(next);
    this.publishHandoff(hold, next, next.acquiredAt);
    return next;
  }

  /** A hold goes to the store. Returns the ticket of the next waiter, which the release asks for in the same step. */
  releasing(hold: Hold): Ticket | undefined {
    return this.holder === hold ? this.openTicket() : undefined;
  }

  granted(grant: Grant): void {
    this.forgetTicket();
    const { context, holds, releases } = this.parts;
    const { first } = this.waiters;
    const lease = Math.min(grant.lease, first?.terms.lease ?? 0);
    const now = context.clock.now();
    if (first === undefined || validUntil(grant.from, lease) <= now) {
      // No waiter is left, or the answer came so late that the lease may be over.
      releases.leave(this.key, grant.id, releases.tombstoneFor(grant.epoch));
      if (this.waits) this.openTicket()?.tryAcquireOrEnqueue();
      else this.failed(answeredTooLate(this.key, lease, true));
      return;
    }
    this.batch.begin(grant.batchSize, now);
    const hold = holds.add(first.terms, grant, this);
    this.serve(first, hold);
    context.events.acquired(hold, first.since, this.lastHolders);
  }

  contended(isSplit = false): void {
    if (isSplit) this.endOverdue();
    else this.seenHeld();
    this.isSplit = isSplit;
    if (!this.waits) this.forgetTicket();
    const { newcomer } = this;
    this.newcomer = undefined;
    if (newcomer !== undefined && this.waiters.has(newcomer)) this.reportContended(newcomer);
  }

  failed(error: LockError): void {
    this.forgetTicket();
    for (const waiter of this.removeAll()) waiter.refused(error);
  }

  private get waits(): boolean {
    return this.kind !== 'one-try';
  }

  private passOn(hold: Hold, terms: HoldTerms): Hold | undefined {
    if (this.holder !== hold || !this.batch.allows(hold, terms) || !hold.end()) return undefined;
    this.batch.count();
    return this.parts.holds.replace(hold, terms, this);
  }

  /** Observers may call anything, so this comes last. */
  private publishHandoff(from: Hold, to: Hold, since: number): void {
    const { events } = this.parts.context;
    events.released(from);
    events.acquired(to, since, [from.id]);
  }

  private serve(waiter: Waiter, hold: Hold): void {
    this.waiters.remove(waiter);
    // Its promise keeps the async context of its caller.
    if (this.newcomer === waiter) this.newcomer = undefined;
    this.heldBy(hold);
    waiter.served(hold);
  }

  private heldBy(hold: Hold): void {
    hold.observeLoss(this.holderLost);
    this.holder = hold;
    this.seenHeld(hold.acquiredAt);
  }

  /** Another holder keeps a waiter from the key. */
  private reportContended(waiter: Waiter): void {
    // Before observers are called: they may have the waiter served at once.
    if (this.waits) waiter.keepAlive();
    this.parts.context.events.contended(waiter, this.holders());
    if (!this.waits) this.timedOut(waiter);
  }

  private timedOut(waiter: Waiter): void {
    const { clock, events } = this.parts.context;
    const isUnanswered = this.isUnanswered(waiter);
    if (isUnanswered && !waiter.overdue) {
      waiter.overdue = true;
      this.overdue.push(waiter);
      waiter.moveDeadline(Math.max(waiter.answerBy, clock.now() + READING_TIME));
      return;
    }
    const trouble = isUnanswered ? this.noAnswer(waiter) : this.ticket?.error;
    if (trouble === undefined) events.timeout(waiter, this.holders());
    this.giveUp(waiter, trouble ?? this.timeoutError(waiter));
  }

  /** A waiter ends without a hold. The waiters behind it keep the place. */
  private giveUp(waiter: Waiter, reason: unknown): void {
    const wasFirst = this.waiters.first === waiter;
    if (this.waiters.remove(waiter)) {
      const { first } = this.waiters;
      if (first === undefined) this.closeTicket();
      else if (wasFirst) this.ticket?.inherit(this.termsOf(first));
    }
    waiter.refused(reason);
  }

  /**
   * Whether the client does not know yet that the key was held while the waiter waited. A waiter that has waited behind a
   * holder of this client knows: the question of a new ticket goes along with the release.
   */
  private isUnanswered({ since }: Waiter): boolean {
    return this.lastHeld < since && this.ticket?.isUnanswered === true;
  }

  private seenHeld(at = this.parts.context.clock.now()): void {
    this.lastHeld = at;
    this.isSplit = false;
    this.endOverdue();
  }

  private endOverdue(): void {
    if (this.overdue.length === 0) return;
    const now = this.parts.context.clock.now();
    // Not here: their callers and observers may call anything, and this queue is in the middle of a change.
    for (const waiter of this.overdue.splice(0)) waiter.moveDeadline(now);
  }

  /** Makes a request for the next waiter. The hold of this queue has ended, if there was one. */
  private openTicket(): Ticket | undefined {
    this.forgetTicket();
    this.holder = undefined;
    const { first } = this.waiters;
    if (first === undefined) {
      this.closeTicket();
      return undefined;
    }
    this.ticket = new Ticket(this.parts, this.termsOf(first), this);
    this.parts.pending.add(this.ticket, this.kind === 'separate' ? this.key : undefined);
    return this.ticket;
  }

  private forgetTicket(): void {
    this.lastHolders = this.holders();
    if (this.ticket !== undefined) this.parts.pending.remove(this.ticket, this.key);
    this.ticket = undefined;
  }

  private holders(): readonly string[] | undefined {
    return this.holder === undefined ? (this.ticket?.holders ?? this.lastHolders) : [this.holder.id];
  }

  /** No waiter is left. */
  private closeTicket(): void {
    const { ticket } = this;
    this.forgetTicket();
    ticket?.leave();
    if (this.holder !== undefined) return;
    const { sharedQueues, separateQueues } = this.parts.pending;
    if (sharedQueues.get(this.key) === this) sharedQueues.delete(this.key);
    else separateQueues.delete(this);
  }

  private termsOf({ terms, behind }: Waiter): TicketTerms {
    const { mode, owner, lease, fair } = terms;
    const batchSize = this.kind === 'shared' && mayShareGrant(terms) ? this.parts.context.limits.batch.size : 1;
    const uncontendedBatchSize = batchSize > 1 && behind !== undefined ? UNCONTENDED_BATCH_SIZE : batchSize;
    return { key: this.key, mode, owner, lease, waits: this.waits, batchSize, uncontendedBatchSize, fair, site: terms };
  }

  private timeoutError({ waitTimeout }: Waiter): LockTimeoutError {
    const { key } = this;
    if (this.isSplit) {
      const within = this.waits ? ` within its waitTimeout of ${Math.round(waitTimeout)} ms` : '';
      const message = `no request for '${key}' got a majority${within}: requests of the same moment have split the masters. Retry`;
      return new LockTimeoutError(message, { key });
    }
    const message = this.waits
      ? `'${key}' was held by other callers for the whole waitTimeout of ${Math.round(waitTimeout)} ms`
      : `'${key}' is held by another caller`;
    // A caller that waits for its own process would not find another one.
    const holder = this.parts.holds.hasKey(key) ? ' (in this process)' : '';
    return new LockTimeoutError(`${message}${holder}`, { key });
  }

  private noAnswer({ since }: Waiter): LockStoreError {
    const { clock, store } = this.parts.context;
    const { key } = this;
    const waited = Math.round(clock.now() - since);
    const { outage: cause } = store;
    const message = cause?.message ?? `Redis has not answered for ${waited} ms whether '${key}' is free`;
    return new LockStoreError(message, { key, cause, transient: true });
  }
}
