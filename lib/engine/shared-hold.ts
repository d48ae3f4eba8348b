import type { StoredHold } from '../store/lock-store.js';
import type { EngineContext, EngineLimits } from './engine-context.js';
import { Hold, type Grant, type HoldTerms } from './hold.js';
import type { Sharing } from './hold-terms.js';
import { LeaseView } from './lease-view.js';
import { mayShareGrant } from './local-batch.js';

/**
 * Whether a request may share a hold in the store with others of its client. A request with an owner or with `fair: true`
 * has a hold of its own, and so has one for which the store does something at each grant or release.
 */
export const mayShareHold = (terms: HoldTerms, { batch }: Pick<EngineLimits, 'batch'>): boolean =>
  terms.mode.kind === 'read' && terms.owner === undefined && !terms.fair && batch.size > 1 && mayShareGrant(terms);

/**
 * One hold in the store that several readers of this client share. Each reader has a `Hold` of its own, with its own lease,
 * signal and renewals. The store keeps the hold for the longest of these leases. The last reader releases it.
 *
 * A reader may join without a command while no other client is known to wait: for `localHandoffTime` after the grant, since
 * a writer may have joined the queue after it.
 */
export class SharedHold implements Sharing<Hold> {
  /** The holds of those that share it, with their numbers. */
  private readonly sharers = new Map<Hold, number>();
  private readonly lease: LeaseView;
  private readonly grantedAt: number;
  private isClosed: boolean;
  private lastNumber = 0;

  constructor(
    private readonly context: Pick<EngineContext, 'clock' | 'logger' | 'store' | 'limits' | 'identity'>,
    readonly key: string,
    private readonly grant: Grant,
  ) {
    this.grantedAt = context.clock.now();
    this.lease = new LeaseView(grant, grant.lease, true);
    this.isClosed = grant.yields === true;
  }

  /** The id under which the store keeps it. */
  get id(): string {
    return this.grant.id;
  }

  get firstToken(): number {
    return this.grant.token;
  }

  /** The store's epoch when it was first asked for. */
  get epoch(): number {
    return this.grant.epoch;
  }

  /** The holds of those that share it now. */
  get holds(): readonly Hold[] {
    return [...this.sharers.keys()];
  }

  get isEmpty(): boolean {
    return this.sharers.size === 0;
  }

  /** Whether a hold has it for itself. */
  isOnly(hold: Hold): boolean {
    return this.sharers.size === 1 && this.sharers.has(hold);
  }

  /** Whether a caller that asks now may share it. */
  admits(terms: HoldTerms): boolean {
    const { clock, store, limits } = this.context;
    if (this.isClosed || this.isEmpty || !mayShareHold(terms, limits)) return false;
    const now = clock.now();
    // Without a connection, or after a reconnect, the store cannot tell this client of a forced release.
    if (now >= this.grantedAt + limits.batch.time || !store.listening || this.epoch !== store.epoch) return false;
    return this.lease.until - now >= Math.min(terms.lease, limits.grantTimeout) / 2;
  }

  /** Makes the hold of one more reader. */
  add(terms: HoldTerms): Hold {
    const { grant, context } = this;
    const number = (this.lastNumber += 1);
    // The first has the id of the grant, which other clients show.
    const hold =
      number === 1
        ? new Hold(terms, grant, context, this)
        : new Hold(terms, { ...grant, id: this.nameOf(terms, number) }, context, this, this.leaseFrom(terms));
    this.sharers.set(hold, number);
    return hold;
  }

  /** A reader has released its hold or lost it. */
  remove(hold: Hold): void {
    this.sharers.delete(hold);
  }

  /** No further reader may join. */
  close(): void {
    this.isClosed = true;
  }

  /** What the store knows of it, for each of those that share it. */
  describe(stored: StoredHold): StoredHold[] {
    if (this.sharers.size <= 1) return [stored];
    return [...this.sharers].map(([{ terms, acquiredAt, promisedLease }, number]) => ({
      ...stored,
      id: this.nameOf(terms, number),
      ttl: Math.min(stored.ttl, promisedLease),
      since: Math.round(stored.since + acquiredAt - this.grantedAt),
    }));
  }

  /** The hold that `describe` shows under this id. */
  find(id: string): Hold | undefined {
    return this.holds.find((hold) => this.nameOf(hold.terms, this.sharers.get(hold)!) === id);
  }

  /** Ends the holds of all that share it. */
  lose(reason: string): void {
    for (const hold of this.holds) hold.lose(reason);
  }

  /** The store has begun the lease already. */
  private leaseFrom({ lease }: HoldTerms): LeaseView {
    return this.lease.passTo(this.context.clock.now(), lease);
  }

  private nameOf(terms: HoldTerms, number: number): string {
    return this.context.identity.sharerId(this.id, number, terms);
  }
}
