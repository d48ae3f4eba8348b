import type { LossReason } from '../errors/index.js';
import type { HoldMode, StoredHold } from '../store/lock-store.js';
import type { EngineContext, EngineLimits } from './engine-context.js';
import { Hold, type Grant, type HoldTerms } from './hold.js';
import { unitsOf, type Sharing } from './hold-terms.js';
import { LeaseView } from './lease-view.js';
import { mayShareGrant } from './local-batch.js';
import type { PermitHold } from './unit-releases.js';

/** One grant serves this many callers at most, so that very many of them do not block the event loop. */
export const MOST_SERVED = 1_000;

/** A caller renews its lease at once if the grant has less than this part of it. */
const ENOUGH = 0.9;

/**
 * Whether a request may share a hold in the store with others of its client: readers, and requests for permits. A request
 * with an owner or with `fair: true` has a hold of its own, and so has one for which the store does something at each grant
 * or release.
 */
export function mayShareHold(terms: HoldTerms, { batch }: Pick<EngineLimits, 'batch'>): boolean {
  const { mode, owner, fair, alone } = terms;
  const isShareable = mode.kind === 'read' || (mode.kind === 'permits' && mode.units > 0);
  return isShareable && owner === undefined && !fair && alone !== true && batch.size > 1 && mayShareGrant(terms);
}

/** Whether two requests want the same: to read, or the same number of permits. */
export function wantsTheSame(one: HoldMode, other: HoldMode): boolean {
  if (one.kind !== 'permits' || other.kind !== 'permits') return one.kind === other.kind;
  return one.units === other.units && one.limit === other.limit;
}

/**
 * One hold in the store that several callers of this client share: readers, or callers with some of its permits. Each caller
 * has a `Hold` of its own, with its own lease, signal and renewals. The store keeps the hold for the longest of these leases.
 * The last caller releases it.
 *
 * For `localHandoffTime` after the grant, and while no other client is known to wait, callers that come later may use it
 * without a command: a reader joins the others, and permits pass from one caller to the next. Each of these callers for
 * permits needs one of the tokens of the grant. Readers have the same token, since they do not exclude each other.
 */
export class SharedHold implements Sharing<Hold>, PermitHold {
  readonly mode: HoldMode;
  readonly key: string;
  /** How many of the callers that wait the grant serves. */
  readonly slots: number;
  private readonly sharers = new Set<Hold>();
  /** How many permits the callers have together. Counted all the time: each of very many callers needs it at its release. */
  private sum = 0;
  private readonly lease: LeaseView;
  private readonly grantedAt: number;
  private isClosed: boolean;
  private lastNumber = 0;
  private lost = false;
  /** Until when the store may keep it for callers that do not share it any more. */
  private keptUntil = -Infinity;

  constructor(
    private readonly context: Pick<EngineContext, 'clock' | 'logger' | 'store' | 'limits' | 'identity'>,
    { key, mode }: HoldTerms,
    private readonly grant: Grant,
  ) {
    this.key = key;
    this.mode = mode;
    const { units = 1 } = mode as { units?: number };
    this.slots = mode.kind === 'read' ? MOST_SERVED : Math.max(1, Math.floor((grant.units ?? units) / units));
    this.grantedAt = context.clock.now();
    this.lease = new LeaseView(grant, grant.lease, true);
    this.isClosed = grant.yields === true;
  }

  /** The id under which the store keeps it. */
  get id(): string {
    return this.grant.id;
  }

  get storeId(): string {
    return this.grant.id;
  }

  get isHeld(): boolean {
    return !this.isEmpty && !this.lost;
  }

  /** Whether the store has ended it, and not the callers. */
  get isLost(): boolean {
    return this.lost;
  }

  get lastsUntil(): number {
    return this.keptUntil;
  }

  get units(): number {
    return this.sum;
  }

  get firstToken(): number {
    return this.grant.token;
  }

  /** The store's epoch when it was first asked for. */
  get epoch(): number {
    return this.grant.epoch;
  }

  /** The holds of the callers that share it now. */
  get holds(): readonly Hold[] {
    return [...this.sharers];
  }

  get isEmpty(): boolean {
    return this.sharers.size === 0;
  }

  /** Whether a hold has it for itself. */
  isOnly(hold: Hold): boolean {
    return this.sharers.size === 1 && this.sharers.has(hold);
  }

  /** Whether a reader that asks now may join the others. */
  admits(terms: HoldTerms): boolean {
    return this.mode.kind === 'read' && terms.mode.kind === 'read' && this.serves(terms);
  }

  /** Whether the permits of a hold that is released now may pass to a caller. It may have released some of them before. */
  mayPass({ units }: Hold, terms: HoldTerms): boolean {
    return units === unitsOf(terms.mode) && this.lastNumber < this.grant.batchSize && this.serves(terms);
  }

  /** Makes the hold of one more caller. */
  add(terms: HoldTerms): Hold {
    const { grant, context } = this;
    const number = (this.lastNumber += 1);
    // The first has the id of the grant, which other clients show.
    const hold =
      number === 1
        ? new Hold(terms, grant, context, this)
        : new Hold(terms, this.grantOf(terms, number), context, this, this.leaseFrom(terms));
    this.sharers.add(hold);
    this.sum += hold.units;
    return hold;
  }

  /** Whether the grant has much less than the lease of a caller, since another one has asked for it. */
  isTooShortFor({ lease, renews }: HoldTerms): boolean {
    const needed = renews ? Math.min(lease, this.context.limits.grantTimeout) : lease;
    return this.grant.lease < needed * ENOUGH;
  }

  /** A caller has released its hold or lost it. */
  remove(hold: Hold): void {
    if (!this.sharers.delete(hold)) return;
    this.sum -= hold.units;
    this.keptUntil = Math.max(this.keptUntil, hold.validUntil);
  }

  unitsReleased(hold: Hold, count: number): void {
    if (this.sharers.has(hold)) this.sum -= count;
  }

  /** No further caller may use it. */
  close(): void {
    this.isClosed = true;
  }

  /** Whether no further caller may use it, because it was closed or its time is over. */
  get isOver(): boolean {
    const { clock, limits } = this.context;
    return this.isClosed || clock.now() >= this.grantedAt + limits.batch.time;
  }

  /** What the store knows of it, for each caller that shares it. */
  describe(stored: StoredHold): StoredHold[] {
    return this.holds.map(({ id, terms, token, acquiredAt, promisedLease }) => ({
      ...stored,
      id,
      token,
      mode: terms.mode,
      ttl: this.sharers.size === 1 ? stored.ttl : Math.min(stored.ttl, promisedLease),
      since: this.sharers.size === 1 ? stored.since : Math.round(stored.since + acquiredAt - this.grantedAt),
    }));
  }

  /** Ends the holds of all that share it. */
  lose(reason: LossReason): void {
    // Before the listeners of the callers: they may ask for the key again.
    this.close();
    this.lost = true;
    for (const hold of this.holds) hold.lose(reason);
  }

  /** Whether the grant may serve a caller that comes now. */
  private serves(terms: HoldTerms): boolean {
    const { clock, store, limits } = this.context;
    if (this.isOver || this.isEmpty || !mayShareHold(terms, limits)) return false;
    // Without a connection, or after a reconnect, the store cannot tell this client of a forced release.
    if (!store.listening || this.epoch !== store.epoch) return false;
    return this.lease.until - clock.now() >= Math.min(terms.lease, limits.grantTimeout) / 2;
  }

  private grantOf(terms: HoldTerms, number: number): Grant {
    const token = this.grant.token + (this.mode.kind === 'permits' ? number - 1 : 0);
    return { ...this.grant, id: this.nameOf(terms, number), token };
  }

  /** The store has begun the lease already. */
  private leaseFrom({ lease }: HoldTerms): LeaseView {
    return this.lease.passTo(this.context.clock.now(), lease);
  }

  private nameOf(terms: HoldTerms, number: number): string {
    return this.context.identity.sharerId(this.id, number, terms);
  }
}
