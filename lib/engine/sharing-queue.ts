import type { TicketTerms } from './acquire-request.js';
import type { Grant } from './hold.js';
import { LocalQueue } from './local-queue.js';
import type { Ticket } from './ticket.js';
import type { Waiter } from './waiter.js';

/**
 * The readers of this client that wait for one key. They share one ticket, and then one hold in the store: a grant serves
 * all of them.
 */
export class SharingQueue extends LocalQueue {
  /** Whether the store has answered that the lock is not free. Waiters that join before may still get it at once. */
  private isContended = false;

  override endBatch(): void {
    this.parts.holds.shared.close(this.key);
  }

  override handOff(): boolean {
    return false;
  }

  override mayBeTakenOver(): boolean {
    return false;
  }

  override takeOver(): undefined {
    return undefined;
  }

  override releasing(): Ticket | undefined {
    return undefined;
  }

  protected override joined(waiter: Waiter): void {
    if (this.ticket === undefined) this.openTicket()?.due();
    else if (this.isContended) this.reportContended(waiter);
  }

  protected override serveUnder(grant: Grant): void {
    const { holds, context } = this.parts;
    const shared = holds.addShared(this.key, grant);
    const served = this.waiters.takeAll().map((waiter) => ({ waiter, hold: holds.share(shared, waiter.terms) }));
    this.forget();
    for (const { waiter, hold } of served) waiter.served(hold);
    // Observers may call anything, so this comes last.
    for (const { waiter, hold } of served) context.events.acquired(hold, waiter.since, this.lastHolders);
  }

  protected override refusedAtFirst(): void {
    this.isContended = true;
    for (const waiter of this.waiters.items()) if (this.waiters.has(waiter)) this.reportContended(waiter);
  }

  protected override termsOf({ terms }: Waiter): TicketTerms {
    const { mode, owner, lease, fair } = terms;
    const { key, waits } = this;
    return { key, mode, owner, lease, waits, batchSize: 1, uncontendedBatchSize: 1, fair, site: terms };
  }

  protected override forget(): void {
    const { sharingQueues, separateQueues } = this.parts.pending;
    if (sharingQueues.get(this.key) === this) sharingQueues.delete(this.key);
    else separateQueues.delete(this);
  }
}
