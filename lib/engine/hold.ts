import { outside } from '../common/outside.js';
import type { TimerEntry } from '../common/timer-queue.js';
import { LockLostError, LOSS_REASONS, type LossReason } from '../errors/index.js';
import type { HoldMode } from '../store/lock-store.js';
import type { ClientGrant } from './client-grant.js';
import type { EngineContext } from './engine-context.js';
import { HoldHandles } from './hold-handles.js';
import { unitsOf, withUnits, type Grant, type HoldTerms, type LossListener, type ReplicaTerms } from './hold-terms.js';
import { callLossListener, LossSignal } from './loss-signal.js';
import type { Question } from './lease-view.js';
import { validUntil } from './validity.js';

export type { Grant, HoldMode, HoldTerms, LossListener, ReplicaTerms };

/** A renewal is due when this part of a lease is left. */
const RENEW_AT = 2 / 3;

export type HoldState = 'held' | 'offered' | 'released' | 'lost';

/** A part of the engine that acts on the loss of a hold, after the signal of the holder was aborted. */
export type LossObserver = (hold: Hold, error: LockLostError) => void;

/**
 * The hold of one caller under a grant, and until when it may rely on it: until its own promise or the grant ends. States:
 * held, then either released (by its holder) or lost (ended under its holder). In between it may be offered: its holder has
 * handed it over, and the store may still have it. A hold never becomes held again.
 */
export class Hold {
  readonly id: string;
  readonly token: number;
  readonly owner: string;
  readonly acquiredAt: number;
  /** The handles that share this hold by re-entry. */
  readonly handles = new HoldHandles();

  private currentState: HoldState = 'held';
  private currentTerms: HoldTerms;
  /** The lease that the holder was promised. The store may have less: first after a pushed grant, or after a failover. */
  private promised: number;
  private promisedFrom: number;
  private fullLease: number;
  private renewalCount = 0;
  private givenUp = false;
  private lossError: LockLostError | undefined;
  private lossSignal: LossSignal | undefined;
  private listeners: Set<LossListener> | undefined;
  private observers: LossObserver[] | undefined;
  /** The release by its holder. Only `releaseWith` sets it. */
  releasing: Promise<boolean> | undefined;
  /** When the watchdog looks at this hold next. Only the watchdog uses it. */
  watch: TimerEntry | undefined;

  constructor(
    terms: HoldTerms,
    readonly grant: ClientGrant,
    { id, token, from }: { readonly id: string; readonly token: number; readonly from: number },
    private readonly context: Pick<EngineContext, 'clock' | 'logger'>,
  ) {
    this.id = id;
    this.token = token;
    this.acquiredAt = context.clock.now();
    this.currentTerms = terms;
    this.promised = this.fullLease = terms.lease;
    this.promisedFrom = from;
    this.owner = terms.owner ?? grant.id;
  }

  get key(): string {
    return this.currentTerms.key;
  }

  get terms(): HoldTerms {
    return this.currentTerms;
  }

  get state(): HoldState {
    return this.currentState;
  }

  /** Until when the client may rely on this hold. */
  get validUntil(): number {
    return Math.min(this.grant.lease.until, this.promisedUntil);
  }

  /**
   * When the next renewal is due: a third of the lease after it was set last. Counted from its end, so an answer that only
   * tells how much is left does not move the renewal.
   */
  get renewalDue(): number {
    const set = this.lacksLease ? this.grant.lease.length : this.promised;
    return this.validUntil - Math.min(this.currentTerms.lease, set) * RENEW_AT;
  }

  /** Ends the hold if its lease is over: right on the first line after a stall or a suspension, before any timer runs. */
  get isHeld(): boolean {
    if (this.currentState !== 'held') return false;
    if (this.context.clock.now() < this.validUntil) return true;
    this.lose('lease-ended', this.grant.renewalError);
    return false;
  }

  /** ms that are left of the lease. Never negative, even if the process stalls between the two clock readings. */
  get remaining(): number {
    return this.isHeld ? Math.max(0, this.validUntil - this.context.clock.now()) : 0;
  }

  /** The full lease in ms, as the call asked for or as `extend` set it last. */
  get lastLease(): number {
    return this.fullLease;
  }

  get signal(): AbortSignal {
    this.lossSignal ??= new LossSignal();
    if (this.lossError !== undefined) this.lossSignal.abort(this.lossError);
    return this.lossSignal.signal;
  }

  /** How the hold was lost, if it was. */
  get loss(): LockLostError | undefined {
    return this.lossError;
  }

  /** How many renewals the store has confirmed. */
  get renewals(): number {
    return this.renewalCount;
  }

  /** No handle can release the hold any more: it is not renewed, and ends with its lease. */
  get isAbandoned(): boolean {
    return this.givenUp;
  }

  /** @throws LockLostError */
  assertHeld(): void {
    if (!this.isHeld) throw this.lossError ?? this.releasedError();
  }

  /** Tells a caller the owner, which may use that name to hold the key elsewhere: no other caller gets this grant. */
  exposeOwner(): string {
    this.grant.close();
    return this.owner;
  }

  abandon(): void {
    this.givenUp = true;
  }

  /** Begins the hold anew with other terms, under the same owner: the last key of a set has been acquired. */
  restart(terms: HoldTerms): void {
    this.currentTerms = { ...terms, owner: this.currentTerms.owner, holdAtLeast: 0 };
    this.renewalCount = 0;
  }

  get units(): number {
    return unitsOf(this.currentTerms.mode);
  }

  /** The holder releases all but `units` of its permits. */
  keepUnits(units: number): void {
    this.currentTerms = withUnits(this.currentTerms, units);
  }

  /** Keeps the key taken for at least `ms` from now on; 0: a release frees it at once. */
  keepFor(ms: number): void {
    const holdAtLeast = ms > 0 ? this.context.clock.now() - this.acquiredAt + ms : 0;
    this.currentTerms = { ...this.currentTerms, holdAtLeast };
  }

  /** ms of lease, from now on, that the store lacks of what the holder was promised; 0: nothing is missing. */
  get missingLease(): number {
    return this.lacksLease ? this.promisedLease : 0;
  }

  /** ms that are left of the lease that the holder was promised. */
  get promisedLease(): number {
    return Math.max(0, Math.ceil(this.promisedFrom + this.promised - this.context.clock.now()));
  }

  /** The store has confirmed a renewal. */
  renewed(question: Question): void {
    this.renewalCount += 1;
    this.promise(question);
  }

  /** The store has confirmed a longer lease, which `extend` has asked for. */
  extended(question: Question): void {
    if (this.promise(question)) this.fullLease = question.lease;
  }

  /** The hold is being offered to another client. */
  offer(): void {
    this.currentState = 'offered';
  }

  /** Ends the hold as released; returns whether it was held until now. */
  end(): boolean {
    const held = this.isHeld;
    if (held) this.currentState = 'released';
    return held;
  }

  /** Releases the hold with `send` once; every later call returns the same promise. */
  releaseWith(send: () => Promise<boolean>): Promise<boolean> {
    return (this.releasing ??= send());
  }

  /**
   * Ends the hold under its holder: first the state, then the signal, then the listeners of the holder. The parts of the
   * engine follow in a microtask, since a property such as `isHeld` must not send commands.
   */
  lose(reason: LossReason, cause?: Error): void {
    if (this.currentState === 'lost') return;
    this.currentState = 'lost';
    const loss = (this.lossError = this.lostError(reason, cause));
    outside(() => {
      this.lossSignal?.abort(loss);
      for (const listener of this.listeners ?? []) void callLossListener(listener, loss, this.context.logger);
      queueMicrotask(() => this.observers?.forEach((observer) => observer(this, loss)));
    });
  }

  /** Calls `listener` when the hold is lost, before another client can hold the key. */
  onLost(listener: LossListener): void {
    (this.listeners ??= new Set()).add(listener);
  }

  offLost(listener: LossListener): void {
    this.listeners?.delete(listener);
  }

  /** Calls `observer` behind the listeners of the holder. */
  observeLoss(observer: LossObserver): void {
    (this.observers ??= []).push(observer);
  }

  /** The error of a call with a handle that its holder has released. */
  releasedError(): LockLostError {
    return new LockLostError(`the lock '${this.key}' is not held any more: it has been released`, this.terms);
  }

  private get promisedUntil(): number {
    return validUntil(this.promisedFrom, this.promised);
  }

  /** Whether the store may have less of the lease than the holder was promised. */
  private get lacksLease(): boolean {
    return this.promisedUntil - this.grant.lease.until >= 1;
  }

  /** A promise never becomes shorter. Returns whether it has become longer. */
  private promise({ sent, lease }: Question): boolean {
    if (sent + lease <= this.promisedFrom + this.promised) return false;
    this.promised = lease;
    this.promisedFrom = sent;
    return true;
  }

  private lostError(lossReason: LossReason, cause?: Error): LockLostError {
    const failure = cause === undefined ? '' : `; the last renewal failed: ${cause.message}`;
    const message = `the lock '${this.key}' is not held any more: ${LOSS_REASONS[lossReason]}${failure}`;
    return new LockLostError(message, { key: this.key, method: this.terms.method, cause, lossReason });
  }
}
