import { UNCONTENDED_BATCH_SIZE } from '../store/lock-store.js';
import type { TicketTerms } from './acquire-request.js';
import type { Grant, Hold, HoldTerms } from './hold.js';
import { LocalBatch, mayShareGrant } from './local-batch.js';
import { LocalQueue, type AcquireParts } from './local-queue.js';
import type { Ticket } from './ticket.js';
import type { Waiter } from './waiter.js';

/** `shared`: all exclusive requests for a key. `separate`: a single request that waits. `one-try`: a single request without a wait. */
export type QueueKind = 'shared' | 'separate' | 'one-try';

/**
 * The waiters of this client that get a key one after another. While one of them holds the key, the others wait for it
 * without a ticket: a release hands the lock to the next waiter as long as the batch of the grant allows, then it goes to
 * the store and takes a place for the next waiter in the same step (cohort locking: Dice, Marathe, Shavit).
 */
export class AcquireQueue extends LocalQueue {
  private holder: Hold | undefined;
  /** The waiter that found an empty queue and may get the key at once. All others were contended when they joined. */
  private newcomer: Waiter | undefined;
  private readonly batch: LocalBatch;
  private readonly holderLost = (hold: Hold): void => this.releasing(hold)?.tryAcquireOrEnqueue();

  constructor(
    key: string,
    private readonly kind: QueueKind,
    parts: AcquireParts,
  ) {
    super(key, parts, kind !== 'one-try');
    this.batch = new LocalBatch(parts.context);
  }

  override accepts(): boolean {
    return this.kind === 'shared';
  }

  override endBatch(): void {
    this.batch.end();
  }

  override handOff(hold: Hold): boolean {
    const { first } = this.waiters;
    const next = first && this.passOn(hold, first.terms);
    if (first === undefined || next === undefined) return false;
    this.serve(first, next);
    this.publishHandoff(hold, next, first.since);
    return true;
  }

  /** Whether no other caller waits, and the batch allows one more. */
  override mayBeTakenOver(hold: Hold): boolean {
    return this.holder === hold && this.waiters.first === undefined && this.batch.allows(hold, hold.terms);
  }

  override takeOver(hold: Hold, terms: HoldTerms): Hold | undefined {
    const next = this.waiters.first === undefined ? this.passOn(hold, terms) : undefined;
    if (next === undefined) return undefined;
    this.heldBy(next);
    this.publishHandoff(hold, next, next.acquiredAt);
    return next;
  }

  override releasing(hold: Hold): Ticket | undefined {
    return this.holder === hold ? this.openTicket() : undefined;
  }

  protected override joined(waiter: Waiter): void {
    // A lost hold does not tell which client holds the lock now.
    if (this.holder?.state === 'held') this.seenHeld();
    if (this.ticket === undefined && this.holder === undefined) {
      this.newcomer = waiter;
      this.openTicket()?.due();
    } else {
      this.reportContended(waiter);
    }
  }

  protected override serveUnder(grant: Grant, first: Waiter, now: number): void {
    const { context, holds } = this.parts;
    this.batch.begin(grant.batchSize, now);
    const hold = holds.add(first.terms, grant, this);
    this.serve(first, hold);
    context.events.acquired(hold, first.since, this.lastHolders);
  }

  protected override refusedAtFirst(): void {
    const { newcomer } = this;
    this.newcomer = undefined;
    if (newcomer !== undefined && this.waiters.has(newcomer)) this.reportContended(newcomer);
  }

  protected override termsOf({ terms, behind, since }: Waiter): TicketTerms {
    const { mode, owner, lease, fair, ahead } = terms;
    const batchSize = this.kind === 'shared' && mayShareGrant(terms) ? this.parts.context.limits.batch.size : 1;
    const uncontendedBatchSize = batchSize > 1 && behind !== undefined ? UNCONTENDED_BATCH_SIZE : batchSize;
    const { key, waits } = this;
    return { key, mode, owner, lease, waits, batchSize, uncontendedBatchSize, fair, ahead, since, site: terms };
  }

  /** The hold of this queue has ended, if there was one. */
  protected override openTicket(): Ticket | undefined {
    this.forgetTicket();
    this.holder = undefined;
    return super.openTicket();
  }

  protected override holders(): readonly string[] | undefined {
    return this.holder === undefined ? super.holders() : [this.holder.id];
  }

  protected override get lineKey(): string | undefined {
    return this.kind === 'separate' ? this.key : undefined;
  }

  protected override forget(): void {
    if (this.holder !== undefined) return;
    const { sharedQueues, separateQueues } = this.parts.pending;
    if (sharedQueues.get(this.key) === this) sharedQueues.delete(this.key);
    else separateQueues.delete(this);
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
}
