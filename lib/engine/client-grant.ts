import type { LossReason } from '../errors/index.js';
import type { AcquireReply, AcquireRequest, HoldMode, StoredHold } from '../store/lock-store.js';
import type { EngineContext, EngineLimits } from './engine-context.js';
import { Hold } from './hold.js';
import { unitsOf, withUnits, type Grant, type HoldTerms } from './hold-terms.js';
import { LeaseView, type Question, type Verdict } from './lease-view.js';

/** One grant serves this many callers at most, so that very many of them do not block the event loop. */
const MOST_SERVED = 1_000;

/** A caller renews its lease at once if the grant has less than this part of it. */
const ENOUGH = 0.9;

/**
 * How many callers of this client a grant serves: one after another, any number of readers at a time, or as many callers at a
 * time as its permits suffice for.
 */
export type Capacity = 'one' | 'readers' | 'permits';

/**
 * What a grant for a request may serve. A request with an owner or with `fair: true` has a grant of its own, and so has one for
 * which the store does something at each grant or release.
 */
export function capacityFor(terms: HoldTerms, { batch }: Pick<EngineLimits, 'batch'>): Capacity {
  const { mode, owner, fair, alone } = terms;
  if (owner !== undefined || fair || alone === true || batch.size === 1 || !mayShareGrant(terms)) return 'one';
  if (mode.kind === 'read') return 'readers';
  return mode.kind === 'permits' && mode.units > 0 ? 'permits' : 'one';
}

/** Whether a request may share a grant. The store does `replicas` and `holdAtLeast` at each grant or release. */
export const mayShareGrant = ({ replicas, holdAtLeast }: HoldTerms): boolean =>
  replicas === undefined && holdAtLeast === 0;

/** Whether two requests want the same: to read, or the same number of permits. */
export function wantsTheSame(one: HoldMode, other: HoldMode): boolean {
  if (one.kind !== 'permits' || other.kind !== 'permits') return one.kind === other.kind;
  return one.units === other.units && one.limit === other.limit;
}

/** The callers of this client that get a grant. */
export interface GrantUsers {
  /** Ends a hold and hands it to the next waiter under the same grant; returns whether that was possible. */
  handOff(hold: Hold): boolean;
  /** Whether a caller that comes now could use the grant of a hold that has ended. */
  mayTakeOver(hold: Hold): boolean;
  /** Ends a hold and hands it to a caller that does not wait, if that is possible. */
  takeOver(hold: Hold, terms: HoldTerms): Hold | undefined;
  /** A hold was released or lost. Returns the request of the next waiter, which the release sends in the same step. */
  ended(hold: Hold): NextRequest | undefined;
  /** No further caller may use the grants of this key. */
  closeGrants(): void;
}

/** The request of the next waiter, which goes out with a release or alone. */
export interface NextRequest {
  request(): AcquireRequest;
  await(answer: Promise<AcquireReply>, sent: number, epoch: number): void;
  tryAcquireOrEnqueue(): void;
}

/** `offered`: it is being handed over to another client, and has no holder here. `lost`: the store has ended it. */
export type GrantState = 'held' | 'offered' | 'lost';

/** The holder of a grant is done, and the release leaves at the end of the turn. */
export interface Idle {
  readonly hold: Hold;
  /** Settles the release. */
  readonly ended: (result: boolean | Promise<boolean>) => void;
}

/**
 * What the store has granted this client for one acquisition, and which callers of this client use it: see `Capacity`. Each
 * caller has a `Hold` of its own, with its own lease, signal and renewals. The store keeps the grant for the longest of these
 * leases, and the last caller releases it.
 *
 * For `localHandoffTime` after the grant, and while no other client is known to wait, callers that come later may use it
 * without a command: a reader joins the others, and a lock or permits pass from one caller to the next. Each of these callers
 * needs one of the tokens of the grant. Readers have the same token, since they do not exclude each other.
 */
export class ClientGrant {
  readonly key: string;
  readonly mode: HoldMode;
  readonly lease: LeaseView;
  state: GrantState = 'held';
  /** Until the end of the turn in which its holder has ended. */
  idle: Idle | undefined;
  /** The failure of the latest renewal, unless the store has answered since. */
  renewalError: Error | undefined;
  private readonly grantedAt: number;
  private isClosed: boolean;
  private served = 0;
  /** Most grants never have more than one holder at a time. */
  private first: Hold | undefined;
  private others: Set<Hold> | undefined;
  /** How many permits the callers have together. Counted all the time: each of very many callers needs it at its release. */
  private sum = 0;

  constructor(
    private readonly context: Pick<EngineContext, 'clock' | 'logger' | 'store' | 'limits' | 'identity'>,
    { key, mode }: HoldTerms,
    private readonly grant: Grant,
    readonly capacity: Capacity = 'one',
    readonly users?: GrantUsers,
  ) {
    this.key = key;
    this.mode = mode;
    this.lease = new LeaseView(grant);
    this.grantedAt = context.clock.now();
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

  /** How many callers that wait it serves at once. */
  get places(): number {
    if (this.capacity === 'one') return 1;
    if (this.capacity === 'readers') return MOST_SERVED;
    const each = unitsOf(this.mode);
    return Math.max(1, Math.floor((this.grant.units ?? each) / each));
  }

  /** The holds of the callers that use it now. */
  get holds(): readonly Hold[] {
    return [...(this.first === undefined ? [] : [this.first]), ...(this.others ?? [])];
  }

  get isEmpty(): boolean {
    return this.first === undefined && (this.others === undefined || this.others.size === 0);
  }

  get isHeld(): boolean {
    return !this.isEmpty && this.state !== 'lost';
  }

  /** How many permits the callers have together. */
  get units(): number {
    return this.sum;
  }

  /** Whether no further caller may use it, because it was closed or its time is over. */
  get isOver(): boolean {
    const { clock, limits } = this.context;
    return this.isClosed || clock.now() >= this.grantedAt + limits.batch.time;
  }

  has(hold: Hold): boolean {
    return this.first === hold || this.others?.has(hold) === true;
  }

  /** Whether a hold has it for itself. */
  isOnly(hold: Hold): boolean {
    return this.first === hold ? !this.others?.size : this.first === undefined && this.others?.size === 1;
  }

  /** Whether a reader that asks now may join the others. */
  admits(terms: HoldTerms): boolean {
    return this.capacity === 'readers' && !this.isEmpty && this.mayServe(terms);
  }

  /** Whether the place of a hold that is released now may pass to a caller. It may have released some permits before. */
  mayPass(hold: Hold, terms: HoldTerms): boolean {
    if (this.capacity === 'readers' || this.served >= this.grant.batchSize || !this.has(hold)) return false;
    return (this.capacity === 'one' || hold.units === unitsOf(terms.mode)) && this.mayServe(terms);
  }

  /** Takes the answer to a question: `left` ms are left. */
  answered(question: Question, left: number): Verdict {
    const verdict = this.lease.answered(question, this.context.clock.now(), left);
    if (verdict !== 'ignored') this.renewalError = undefined;
    if (verdict === 'lowered' || verdict === 'unclear') this.close();
    return verdict;
  }

  /** Makes the hold of one more caller. */
  add(terms: HoldTerms): Hold {
    const { grant, capacity, context } = this;
    const number = (this.served += 1);
    const isFirst = number === 1;
    // The first has the id of the grant, which other clients show.
    const id = isFirst || capacity === 'one' ? grant.id : context.identity.sharerId(grant.id, number, terms);
    const token = grant.token + (capacity === 'readers' ? 0 : number - 1);
    // The lease of a later caller has begun already in the store.
    const own = capacity === 'one' && grant.units !== undefined ? withUnits(terms, grant.units) : terms;
    const hold = new Hold(own, this, { id, token, from: isFirst ? grant.from : context.clock.now() }, context);
    if (this.first === undefined) this.first = hold;
    else (this.others ??= new Set()).add(hold);
    this.sum += hold.units;
    return hold;
  }

  /** Whether the store has much less than the lease of a caller that joins, since another one has asked for it. */
  isTooShortFor({ lease, renews }: HoldTerms): boolean {
    if (this.served === 1) return false;
    // A lease that is not renewed is to last in full.
    if (this.capacity === 'one') return !renews;
    const needed = renews ? Math.min(lease, this.context.limits.grantTimeout) : lease;
    return this.grant.lease < needed * ENOUGH;
  }

  /** A caller has released its hold or lost it. */
  remove(hold: Hold): void {
    if (!this.has(hold)) return;
    if (this.first === hold) this.first = undefined;
    else this.others!.delete(hold);
    this.sum -= hold.units;
  }

  /** A caller has released some of its permits. */
  unitsReleased(hold: Hold, count: number): void {
    if (this.has(hold)) this.sum -= count;
  }

  /** No further caller may use it. */
  close(): void {
    this.isClosed = true;
  }

  /** What the store knows of it, for each caller that uses it. */
  describe(stored: StoredHold): StoredHold[] {
    const { holds, capacity, grantedAt } = this;
    if (capacity === 'one') return [{ ...stored, token: holds[0]?.token ?? stored.token }];
    const isShared = holds.length > 1;
    return holds.map(({ id, terms, token, acquiredAt, promisedLease }) => ({
      ...stored,
      id,
      token,
      mode: terms.mode,
      ttl: isShared ? Math.min(stored.ttl, promisedLease) : stored.ttl,
      since: isShared ? Math.round(stored.since + acquiredAt - grantedAt) : stored.since,
    }));
  }

  /** Ends the holds of all that use it. */
  lose(reason: LossReason): void {
    // Before the listeners of the callers: they may ask for the key again.
    this.close();
    this.state = 'lost';
    for (const hold of this.holds) hold.lose(reason);
  }

  /** Whether it may serve a caller that comes now, without a command. */
  private mayServe(terms: HoldTerms): boolean {
    const { clock, store, limits } = this.context;
    const { capacity, lease } = this;
    if (this.isOver || (capacity === 'one' ? !mayShareGrant(terms) : capacityFor(terms, limits) !== capacity))
      return false;
    // Without a connection, or after a reconnect, the store cannot tell this client to yield, nor of a release by force.
    if (!store.listening || this.epoch !== store.epoch) return false;
    const now = clock.now();
    if (lease.isUnclear || lease.until - now < Math.min(terms.lease, limits.grantTimeout) / 2) return false;
    // If this client crashes, the next caller's lock lasts no longer than its lease.
    return capacity !== 'one' || lease.lastsUntil - now <= terms.lease;
  }
}
