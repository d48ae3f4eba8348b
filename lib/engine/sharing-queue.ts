import { UNCONTENDED_BATCH_SIZE } from '../store/lock-store.js';
import type { TicketTerms } from './acquire-request.js';
import type { Grant, Hold, HoldTerms } from './hold.js';
import { LocalQueue, type AcquireParts } from './local-queue.js';
import { MOST_SERVED, wantsTheSame, type SharedHold } from './shared-hold.js';
import type { Ticket } from './ticket.js';
import type { Waiter } from './waiter.js';

/**
 * The callers of this client that share holds of one key: readers, or callers that each want the same number of permits.
 * They share one ticket, and then one hold in the store. A grant serves all readers, or as many callers as it has permits
 * for. The permits pass to the next caller as long as the grant allows.
 */
export class SharingQueue extends LocalQueue {
  /** Whether the store has answered that the lock is not free. Waiters that join before may still get it at once. */
  private isContended = false;
  private isClosed = false;

  constructor(
    private readonly terms: HoldTerms,
    parts: AcquireParts,
    waits: boolean,
  ) {
    super(terms.key, parts, waits);
  }

  /** Whether a request wants the same: to read, or the same number of permits. */
  override accepts({ mode }: HoldTerms): boolean {
    return wantsTheSame(this.terms.mode, mode);
  }

  /** Callers that come later stand in another queue, behind a caller of another kind. They do not share holds of this one. */
  close(): void {
    this.isClosed = true;
  }

  override endBatch(): void {
    this.parts.holds.shared.close(this.key);
  }

  /** Passes the permits of a hold to the next caller that wants as many. */
  override handOff(hold: Hold): boolean {
    const shared = this.parts.holds.shared.get(hold.storeId);
    if (shared === undefined) return false;
    if (this.takeFrom(hold, shared)) return true;
    if (this.isClosed) return false;
    // Callers that wait now may stand in a later queue.
    const later = this.parts.pending.sharingQueues.get(this.key);
    return later instanceof SharingQueue && later.accepts(this.terms) && later.takeFrom(hold, shared);
  }

  override mayBeTakenOver(): boolean {
    return false;
  }

  override takeOver(): undefined {
    return undefined;
  }

  /** If callers wait, they have a ticket already. */
  override releasing(): Ticket | undefined {
    return undefined;
  }

  protected override joined(waiter: Waiter): void {
    if (this.ticket === undefined) this.openTicket()?.due();
    else if (this.isContended) this.reportContended(waiter);
  }

  protected override serveUnder(grant: Grant): void {
    const { holds, context, units } = this.parts;
    const shared = holds.addShared(this.terms, grant);
    const served: Array<{ readonly waiter: Waiter; readonly hold: Hold }> = [];
    while (this.waiters.first !== undefined && served.length < shared.slots) {
      const waiter = this.waiters.first;
      this.waiters.remove(waiter);
      served.push({ waiter, hold: holds.share(shared, waiter.terms, this) });
    }
    // The permits still pass to the other waiters of this queue.
    if (this.isClosed && shared.mode.kind === 'read') shared.close();
    // Fewer callers wait than did when the store was asked.
    if (served.length < shared.slots && shared.mode.kind === 'permits') units.sendInBackground(shared);
    if (this.waiters.first === undefined) this.forget();
    else {
      this.seenHeld();
      this.openTicket()?.due();
    }
    for (const { waiter, hold } of served) waiter.served(hold);
    // Observers may call anything, so this comes last.
    for (const { waiter, hold } of served) context.events.acquired(hold, waiter.since, this.lastHolders);
  }

  protected override refusedAtFirst(): void {
    this.isContended = true;
    for (const waiter of this.waiters.items()) if (this.waiters.has(waiter)) this.reportContended(waiter);
  }

  protected override termsOf({ terms, since }: Waiter): TicketTerms {
    const { mode, owner, lease, fair } = terms;
    const { key, waits, waiters, parts } = this;
    const common = { key, mode, owner, lease, waits, fair, since, site: terms };
    if (mode.kind === 'read') return { ...common, batchSize: 1, uncontendedBatchSize: 1 };
    const batchSize = waits ? parts.context.limits.batch.size : 1;
    const uncontendedBatchSize = waiters.size > 1 ? Math.max(batchSize, UNCONTENDED_BATCH_SIZE) : batchSize;
    // Callers come and go while the ticket waits.
    const most = parts.context.store.permits === undefined ? 1 : MOST_SERVED;
    const slots = (): number => Math.min(Math.max(1, waiters.size), most);
    return { ...common, batchSize, uncontendedBatchSize, slots };
  }

  protected override openTicket(): Ticket | undefined {
    this.isContended = false;
    return super.openTicket();
  }

  protected override forget(): void {
    const { sharingQueues, separateQueues } = this.parts.pending;
    if (sharingQueues.get(this.key) === this) sharingQueues.delete(this.key);
    else separateQueues.delete(this);
  }

  private takeFrom(hold: Hold, shared: SharedHold): boolean {
    const { waiters, parts } = this;
    const { first } = waiters;
    if (first === undefined || !shared.mayPass(hold, first.terms) || !hold.end()) return false;
    waiters.remove(first);
    const next = parts.holds.share(shared, first.terms, this);
    parts.holds.remove(hold);
    if (waiters.first === undefined) this.closeTicket();
    else this.ticket?.inherit(this.termsOf(waiters.first));
    first.served(next);
    // Observers may call anything, so this comes last.
    parts.context.events.released(hold);
    parts.context.events.acquired(next, first.since, [hold.id]);
    return true;
  }
}
