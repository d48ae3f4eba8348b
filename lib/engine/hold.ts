import { callerContext, outside } from '../common/async-context.js';
import { messageOf } from '../common/describe.js';
import type { LockLogger } from '../common/logger.js';
import type { TimerEntry } from '../common/timer-queue.js';
import { LockLostError, LOSS_REASONS, type LossReason } from '../errors/index.js';
import type { AcquireReply, AcquireRequest, HoldMode, StoredHold } from '../store/lock-store.js';
import { sharerId } from '../store/acquisition-id.js';
import type { EngineContext } from './engine-context.js';
import {
  capacityFor,
  mayShareGrant,
  MOST_SERVED,
  unitsOf,
  withUnits,
  type Capacity,
  type Grant,
  type HoldTerms,
  type KeyTerms,
  type LossListener,
  type ReplicaTerms,
} from './hold-terms.js';
import { LeaseView, validUntil, type LeaseRequest, type Verdict } from './lease-view.js';

export type { Grant, HoldMode, HoldTerms, KeyTerms, LossListener, ReplicaTerms };

/** A renewal is due when this part of a lease is left. */
const RENEW_AT = 2 / 3;

export type HoldState = 'held' | 'offered' | 'released' | 'lost';

/** The part of the engine that acts on the loss of a hold, after the signal of the holder was aborted. */
export type LossObserver = (hold: Hold, error: LockLostError) => void;

/** The signal of a hold. Its listeners run in the async context of the code that has read it first. */
class LossSignal {
  readonly controller = new AbortController();
  private readonly run = callerContext();

  abort(loss: LockLostError): void {
    this.run(() => this.controller.abort(loss));
  }
}

/** Calls a listener of the user. It may throw or reject, which the log tells. */
async function callLossListener(listener: LossListener, loss: LockLostError, logger: LockLogger): Promise<void> {
  try {
    await listener(loss);
  } catch (failure) {
    logger.error(`onLost of '${loss.key}' failed: ${messageOf(failure)}`);
  }
}

/**
 * The hold of one caller under a grant, and until when it may rely on it: until its own promise or the grant ends. States:
 * held, then either released (by its holder) or lost (ended under its holder). In between it may be offered: its holder has
 * handed it over, and the store may still have it. A hold never becomes held again.
 */
export class Hold implements TimerEntry {
  readonly acquiredAt: number;
  state: HoldState = 'held';
  /** Whether it was ever offered. From then on it has no holder here, even if it is lost. */
  wasOffered = false;
  /** The full lease in ms, as the call asked for or as `extend` set it last. */
  lastLease: number;
  /** How the hold was lost, if it was. */
  loss: LockLostError | undefined;
  /** How many renewals the store has confirmed. */
  renewals = 0;
  /** No handle can release the hold any more: it is not renewed, and ends with its lease. */
  isAbandoned = false;
  /**
   * How many handles that share this hold by re-entry may still release it; the last one does. A handle that will not be
   * released does not count.
   */
  handles = 0;
  /** The lease that the holder was promised. The store may have less: first after a pushed grant, or after a failover. */
  private promised: number;
  private promisedFrom: number;
  private lossSignal: LossSignal | undefined;
  private listeners: Set<LossListener> | undefined;
  /** The release by its holder. */
  releasing: boolean | Promise<boolean> | undefined;
  /** When the watchdog looks at this hold next. */
  at = 0;
  index = -1;

  constructor(
    public terms: HoldTerms,
    readonly grant: ClientGrant,
    readonly id: string,
    /** Counts the callers that the grant serves, from 1 on. */
    private readonly turn: number,
    from: number,
  ) {
    this.acquiredAt = this.now();
    this.promised = this.lastLease = terms.lease;
    this.promisedFrom = Math.floor(from);
  }

  get key(): string {
    return this.grant.key;
  }

  get token(): number {
    return this.grant.tokenOf(this.turn);
  }

  get owner(): string {
    return this.terms.owner ?? this.grant.ownerOf(this.turn);
  }

  /** Until when the client may rely on this hold. */
  get validUntil(): number {
    return Math.min(this.grant.lease.until, this.promisedUntil);
  }

  /**
   * When the next renewal is due: a third of the lease after it was set last. Counted from its end, so a reply that only
   * tells how much is left does not move the renewal.
   */
  get renewalDue(): number {
    const { lease } = this.terms;
    // A shorter `extend` promises less than a renewal, and moves none.
    const set = this.lacksLease ? Math.min(lease, this.grant.lease.length) : lease;
    return this.validUntil - set * RENEW_AT;
  }

  /** Ends the hold if its lease is over: right on the first line after a stall or a suspension, before any timer runs. */
  get isHeld(): boolean {
    if (this.state !== 'held') return false;
    if (this.now() < this.validUntil) return true;
    this.lose('lease-ended', this.grant.renewalError);
    return false;
  }

  /** ms that are left of the lease. Never negative, even if the process stalls between the two clock readings. */
  get remaining(): number {
    return this.isHeld ? Math.max(0, this.validUntil - this.now()) : 0;
  }

  get signal(): AbortSignal {
    this.lossSignal ??= new LossSignal();
    if (this.loss !== undefined) this.lossSignal.abort(this.loss);
    return this.lossSignal.controller.signal;
  }

  /** @throws LockLostError */
  assertHeld(): void {
    if (!this.isHeld) throw this.loss ?? this.releasedError();
  }

  /** Tells a caller the owner, which may use that name to hold the key elsewhere: no other caller gets this grant. */
  exposeOwner(): string {
    this.grant.close();
    return this.owner;
  }

  /** Begins the hold anew with other terms, under the same owner: the last key of a set has been acquired. */
  restart(terms: HoldTerms): void {
    this.terms = { ...terms, owner: this.terms.owner, holdAtLeast: 0 };
    this.renewals = 0;
  }

  get units(): number {
    return unitsOf(this.terms.mode);
  }

  /** The holder releases some of its permits. */
  releaseUnits(count: number): void {
    this.terms = withUnits(this.terms, this.units - count);
    this.grant.units -= count;
  }

  /** Keeps the key taken for at least `ms` from now on; 0: a release frees it at once. */
  keepFor(ms: number): void {
    const holdAtLeast = ms > 0 ? this.now() - this.acquiredAt + ms : 0;
    this.terms = { ...this.terms, holdAtLeast };
  }

  /** ms of lease, from now on, that the store lacks of what the holder was promised; 0: nothing is missing. */
  get missingLease(): number {
    return this.lacksLease ? this.promisedLease : 0;
  }

  /** ms that are left of the lease that the holder was promised. */
  get promisedLease(): number {
    return Math.max(0, Math.ceil(this.promisedFrom + this.promised - this.now()));
  }

  /** The store has confirmed a renewal. */
  renewed(request: LeaseRequest): void {
    this.renewals += 1;
    this.promise(request);
  }

  /** The store has confirmed the longer lease of an `extend`. */
  extended(request: LeaseRequest): void {
    if (this.promise(request)) this.lastLease = request.lease;
  }

  /** The hold is being offered to another client. It has no holder here any more, even if the offer ends by force. */
  offer(): void {
    this.state = 'offered';
    this.wasOffered = true;
  }

  /** The time of the next look has come. */
  run(): void {
    this.grant.context.due?.(this);
  }

  /** Ends the hold as released; returns whether it was held until now. */
  end(): boolean {
    const held = this.isHeld;
    if (held) this.state = 'released';
    return held;
  }

  /**
   * Ends the hold as released, because its grant passes to another caller of this client; returns whether it was held until now.
   * From then on a release sends nothing: that caller's hold has the same id in the store.
   */
  handOff(): boolean {
    const held = this.end();
    if (held) this.releasing ??= true;
    return held;
  }

  /** Releases the hold with `send` once; every later call returns the same result. */
  releaseWith(send: () => boolean | Promise<boolean>): boolean | Promise<boolean> {
    return (this.releasing ??= send());
  }

  /**
   * Ends the hold under its holder: first the state, then the signal, then the listeners of the holder. The engine follows
   * in a microtask, since a property such as `isHeld` must not send commands. `by`: the caller of a forced release.
   */
  lose(reason: LossReason, cause?: Error, by?: string): void {
    if (this.state === 'lost') return;
    this.state = 'lost';
    const loss = (this.loss = this.lostError(reason, cause, by));
    outside(() => {
      this.lossSignal?.abort(loss);
      const { logger, lost } = this.grant.context;
      for (const listener of this.listeners ?? []) void callLossListener(listener, loss, logger);
      queueMicrotask(() => lost?.(this, loss));
    });
  }

  /** Calls `listener` when the hold is lost, before another client can hold the key. */
  onLost(listener: LossListener): void {
    (this.listeners ??= new Set()).add(listener);
  }

  offLost(listener: LossListener): void {
    this.listeners?.delete(listener);
  }

  /** The error of a call with a handle that its holder has released. */
  releasedError(): LockLostError {
    return new LockLostError(`the lock '${this.key}' is not held any more: it has been released`, {
      key: this.key,
      method: this.terms.method,
    });
  }

  private now(): number {
    return this.grant.context.clock.now();
  }

  private get promisedUntil(): number {
    return validUntil(this.promisedFrom, this.promised);
  }

  /** Whether the store may have less of the lease than the holder was promised. */
  private get lacksLease(): boolean {
    return this.promisedUntil - this.grant.lease.until >= 1;
  }

  /** A promise never becomes shorter. Returns whether it has become longer. */
  private promise({ sent, lease }: LeaseRequest): boolean {
    if (sent + lease <= this.promisedFrom + this.promised) return false;
    this.promised = lease;
    this.promisedFrom = Math.floor(sent);
    return true;
  }

  private lostError(lossReason: LossReason, cause?: Error, by?: string): LockLostError {
    const failure = cause === undefined ? '' : `; the last renewal failed: ${cause.message}`;
    const who = by === undefined ? '' : ` by ${by}`;
    const message = `the lock '${this.key}' is not held any more: ${LOSS_REASONS[lossReason]}${who}${failure}`;
    return new LockLostError(message, { key: this.key, method: this.terms.method, cause, lossReason, forcedBy: by });
  }
}

/** A caller renews its lease at once if the grant has less than this part of it. */
const ENOUGH = 0.9;

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
  await(pending: Promise<AcquireReply>, sent: number, epoch: number): void;
  ask(): void;
}

/** What all grants of a client share. */
export interface GrantContext extends Pick<EngineContext, 'clock' | 'logger' | 'store' | 'limits' | 'identity'> {
  /** Called with each hold that was lost, behind the listeners of its holder. */
  readonly lost?: LossObserver;
  /** Called with each hold whose time in the timer queue has come. */
  readonly due?: (hold: Hold) => void;
}

/** What a grant is for. */
export type GrantTarget = Pick<AcquireRequest, 'key' | 'mode'>;

/** `offered`: it is being handed over to another client, and has no holder here. `lost`: the store has ended it. */
export type GrantState = 'held' | 'offered' | 'lost';

/**
 * What the store has granted this client for one acquisition, and which callers of this client use it: see `Capacity`. Each
 * caller has a `Hold` of its own, with its own lease, signal and renewals. The store keeps the grant for the longest of these
 * leases, and the last caller releases it.
 *
 * For `localHandoffTime` after the grant, and while no other client is known to wait, later callers may use it
 * without a command: a reader joins the others, and a lock or permits pass from one caller to the next. Each of these callers
 * needs one of the tokens of the grant. Readers have the same token, since they do not exclude each other.
 */
export class ClientGrant {
  readonly key: string;
  readonly mode: HoldMode;
  readonly lease: LeaseView;
  state: GrantState = 'held';
  /** The failure of the latest renewal, unless the store has replied since. */
  renewalError: Error | undefined;
  /** The id under which the store keeps it. */
  readonly id: string;
  readonly firstToken: number;
  /** See `Grant`. */
  readonly epoch: number | undefined;
  /** After a release by force: the id of the acquisition that got the lock by it, if that is known. */
  nextId: string | undefined;
  private readonly grantedAt: number;
  private readonly batchSize: number;
  /** How many permits it has, if the request asked for all that were free. */
  private readonly allUnits: number | undefined;
  private isClosed: boolean;
  private served = 0;
  /** Most grants never have more than one holder at a time. */
  private first: Hold | undefined;
  private others: Set<Hold> | undefined;
  /** How many permits the callers have together. Counted all the time: each of very many callers needs it at its release. */
  units = 0;

  constructor(
    readonly context: GrantContext,
    { key, mode }: GrantTarget,
    grant: Grant,
    readonly capacity: Capacity = 'one',
    readonly users?: GrantUsers,
  ) {
    this.key = key;
    this.mode = mode;
    this.lease = new LeaseView(grant);
    this.id = grant.id;
    this.firstToken = grant.token;
    this.epoch = grant.epoch;
    this.batchSize = grant.batchSize;
    this.allUnits = grant.units;
    this.grantedAt = Math.floor(context.clock.now());
    this.isClosed = grant.yields === true;
  }

  /** How many callers that wait it serves at once. */
  get places(): number {
    if (this.capacity === 'one') return 1;
    if (this.capacity === 'readers') return MOST_SERVED;
    const each = unitsOf(this.mode);
    return Math.max(1, Math.floor((this.allUnits ?? each) / each));
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
    if (this.capacity === 'readers' || this.served >= this.batchSize || !this.has(hold)) return false;
    // The store may have granted it for an earlier caller, which has given up meanwhile.
    if (!mayShareGrant(hold.terms)) return false;
    return (this.capacity === 'one' || hold.units === unitsOf(terms.mode)) && this.mayServe(terms);
  }

  /** Takes the reply to a request: `left` ms are left. */
  replied(request: LeaseRequest, left: number): Verdict {
    const verdict = this.lease.replied(request, this.context.clock.now(), left);
    if (verdict !== 'ignored') this.renewalError = undefined;
    if (verdict === 'lowered' || verdict === 'unclear') this.close();
    return verdict;
  }

  /** The fencing token of the caller that was served as the `turn`th. */
  tokenOf(turn: number): number {
    return this.firstToken + (this.capacity === 'readers' ? 0 : turn - 1);
  }

  /** The owner of a caller that names none. After a handoff the id belongs to the next caller, who is another owner. */
  ownerOf(turn: number): string {
    return this.capacity === 'one' && turn < this.served ? sharerId(this.id, turn, '') : this.id;
  }

  /** Makes the hold of one more caller. `from`: since when it has its lease; the store has counted a shared one for longer. */
  add(terms: HoldTerms, from = this.context.clock.now()): Hold {
    const { capacity, context, allUnits } = this;
    const turn = (this.served += 1);
    // The first has the id of the grant, which other clients show.
    const id = turn === 1 || capacity === 'one' ? this.id : context.identity.sharerId(this.id, turn, terms);
    const own = capacity === 'one' && allUnits !== undefined ? withUnits(terms, allUnits) : terms;
    const hold = new Hold(own, this, id, turn, from);
    if (this.first === undefined) this.first = hold;
    else (this.others ??= new Set()).add(hold);
    this.units += hold.units;
    return hold;
  }

  /** Whether the store has much less than the lease of a caller that joins: another caller has requested the grant. */
  isTooShortFor({ lease, renews }: HoldTerms): boolean {
    if (this.served === 1) return false;
    // A lease that is not renewed is to last in full.
    if (this.capacity === 'one') return !renews;
    const needed = renews ? Math.min(lease, this.context.limits.grantTimeout) : lease;
    return this.lease.length < needed * ENOUGH;
  }

  /** A caller has released its hold or lost it. */
  remove(hold: Hold): void {
    if (this.first === hold) this.first = undefined;
    else this.others!.delete(hold);
    this.units -= hold.units;
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

  /** Ends the holds of all that use it. Sends nothing: a caller that knows that the store still has the grant releases it. */
  lose(reason: LossReason, by?: string, next?: string): void {
    // Before the listeners of the callers: they may ask for the key again.
    this.close();
    this.state = 'lost';
    this.nextId = next;
    for (const hold of this.holds) hold.lose(reason, undefined, by);
  }

  /** Whether it may serve a caller that comes now, without a command. */
  private mayServe(terms: HoldTerms): boolean {
    const { clock, store, limits } = this.context;
    const { capacity, lease } = this;
    if (
      this.isOver ||
      (capacity === 'one' ? !mayShareGrant(terms) : capacityFor(terms, limits.batch.size) !== capacity)
    )
      return false;
    // Without a connection, or after a reconnect, the store cannot tell this client to yield, nor of a release by force.
    if (!store.listening || this.epoch !== store.epoch) return false;
    const now = clock.now();
    if (lease.isUnclear || lease.until - now < Math.min(terms.lease, limits.grantTimeout) / 2) return false;
    // If this client crashes, the next caller's lock lasts no longer than its lease.
    return capacity !== 'one' || lease.lastsUntil - now <= terms.lease;
  }
}
