import { outside } from '../common/outside.js';
import type { TimerEntry } from '../common/timer-queue.js';
import { LockLostError, LOSS_REASONS, type LossReason } from '../errors/index.js';
import type { HoldMode } from '../store/lock-store.js';
import type { EngineContext } from './engine-context.js';
import { HoldHandles } from './hold-handles.js';
import {
  unitsOf,
  withUnits,
  type Grant,
  type GrantChain,
  type HoldTerms,
  type LossListener,
  type ReplicaTerms,
  type Sharing,
} from './hold-terms.js';
import { callLossListener, LossSignal } from './loss-signal.js';
import { LeaseView, type LooseExtension, type Question, type Verdict } from './lease-view.js';

export type { Grant, HoldTerms, HoldMode, LossListener, ReplicaTerms };

export type HoldState = 'held' | 'offered' | 'released' | 'lost';

/** A part of the engine that acts on the loss of a hold, after the signal of the holder was aborted. */
export type LossObserver = (hold: Hold, error: LockLostError) => void;

/**
 * One hold of a key, and until when the client may rely on it. States: held, then either released (by its holder) or lost
 * (ended under its holder). In between it may be offered: its holder has handed it over, and the store may still have it
 * under its id. A hold never becomes held again.
 */
export class Hold {
  readonly id: string;
  readonly token: number;
  /** The store's epoch when the acquisition was first asked for. */
  readonly epoch: number;
  readonly owner: string;
  readonly acquiredAt: number;
  /** The handles that share this hold by re-entry. */
  readonly handles = new HoldHandles();

  private currentState: HoldState = 'held';
  private currentTerms: HoldTerms;
  private fullLease: number;
  private renewalCount = 0;
  private ownerExposed = false;
  private givenUp = false;
  private renewalError: Error | undefined;
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
    grant: Grant,
    private readonly context: Pick<EngineContext, 'clock' | 'logger'>,
    /** The hold in the store that this one shares with others of this client. */
    readonly shared?: Sharing<Hold>,
    private readonly lease = new LeaseView(grant, terms.lease, shared !== undefined),
    private readonly chain: GrantChain<Hold> = { firstToken: grant.token, holder: undefined },
  ) {
    this.id = grant.id;
    this.token = grant.token;
    this.epoch = grant.epoch;
    this.acquiredAt = context.clock.now();
    this.currentTerms = terms;
    this.fullLease = terms.lease;
    this.owner = terms.owner ?? this.storeId;
    chain.holder = this;
  }

  /** The id under which the store keeps it. */
  get storeId(): string {
    return this.shared?.id ?? this.id;
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

  /** The token of the first hold under this grant. */
  get firstToken(): number {
    return this.chain.firstToken;
  }

  /** The latest hold under the same grant: this hold, or that of the local waiter that got the lock. */
  get currentHolder(): Hold {
    return this.chain.holder ?? this;
  }

  /** Until when the client may rely on this hold. */
  get validUntil(): number {
    return this.lease.until;
  }

  /** When the next renewal is due. */
  get renewalDue(): number {
    return this.lease.renewalDue(this.currentTerms.lease);
  }

  /** Ends the hold if its lease is over: right on the first line after a stall or a suspension, before any timer runs. */
  get isHeld(): boolean {
    if (this.currentState !== 'held') return false;
    if (this.context.clock.now() < this.lease.until) return true;
    this.lose('lease-ended', this.renewalError);
    return false;
  }

  /** ms that are left of the lease. Never negative, even if the process stalls between the two clock readings. */
  get remaining(): number {
    return this.isHeld ? Math.max(0, this.lease.until - this.context.clock.now()) : 0;
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

  /** Whether a caller knows the owner, and may use that name to hold the key elsewhere. */
  get ownerIsKnown(): boolean {
    return this.ownerExposed;
  }

  /** No handle can release the hold any more: it is not renewed, and ends with its lease. */
  get isAbandoned(): boolean {
    return this.givenUp;
  }

  /** @throws LockLostError */
  assertHeld(): void {
    if (!this.isHeld) throw this.lossError ?? this.releasedError();
  }

  /** Tells a caller the owner. */
  exposeOwner(): string {
    this.ownerExposed = true;
    this.shared?.close();
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

  /** The newest answer was so slow that the store may have less of the lease than the client relies on. */
  get isUnclear(): boolean {
    return this.lease.isUnclear;
  }

  /** Whether the newest answer comes from before an epoch of the store. */
  isFromBefore(epoch: number): boolean {
    return this.lease.isFromBefore(epoch);
  }

  /** ms of lease, from now on, that the store lacks of what the holder was promised; 0: nothing is missing. */
  get missingLease(): number {
    return this.lease.lacksLease ? this.promisedLease : 0;
  }

  /** ms that are left of the lease that the holder was promised. */
  get promisedLease(): number {
    return this.lease.promisedLease(this.context.clock.now());
  }

  /** Numbers a question that is about to be sent: for a lease of `lease` ms, or with 0 how much is left. */
  ask(epoch: number, lease: number): Question {
    return this.lease.ask(this.context.clock.now(), epoch, lease);
  }

  /** Takes an answer to a question about this hold or an earlier one of the same grant: `left` ms are left. */
  answered(question: Question, left: number): Verdict {
    if (this.currentState !== 'held') return 'ignored';
    const verdict = this.lease.answered(question, this.context.clock.now(), left);
    if (verdict !== 'ignored') this.renewalError = undefined;
    if (verdict === 'lowered' || verdict === 'unclear') this.shared?.close();
    return verdict;
  }

  /** The store has confirmed a renewal. */
  renewed(question: Question): void {
    this.renewalCount += 1;
    this.lease.renewed(question);
  }

  /** A renewal has failed. If the lease ends before an answer, this is the cause of the loss. */
  renewalFailed(error: Error): void {
    this.renewalError = error;
  }

  /** Numbers a question that sets the lease to `lease` ms; see `LeaseView.resize`. */
  resize(epoch: number, lease: number, late: number): [Question, LooseExtension] {
    this.fullLease = lease;
    return this.lease.resize(this.context.clock.now(), epoch, lease, late);
  }

  /** The store has executed an extension, and will not execute it again. */
  settled(extension: LooseExtension): void {
    this.lease.settled(extension);
  }

  /** Whether the lease is long enough to hand the lock to the next local waiter without a command. */
  lastsFor({ lease }: HoldTerms, grantTimeout: number): boolean {
    return this.lease.lastsFor(this.context.clock.now(), lease, grantTimeout);
  }

  /** The hold of the next local waiter under the same grant: its lease has begun already. */
  passTo(terms: HoldTerms): Hold {
    const { id, token, epoch, context } = this;
    const [lease, from] = [terms.lease, context.clock.now()];
    const grant = { id, token: token + 1, batchSize: 1, lease, longest: lease, from, epoch, restsOn: epoch };
    return new Hold(terms, grant, context, undefined, this.lease.passTo(from, lease), this.chain);
  }

  /** Until when the store may keep the hold. */
  get lastsUntil(): number {
    return this.lease.lastsUntil;
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

  private lostError(lossReason: LossReason, cause?: Error): LockLostError {
    const failure = cause === undefined ? '' : `; the last renewal failed: ${cause.message}`;
    const message = `the lock '${this.key}' is not held any more: ${LOSS_REASONS[lossReason]}${failure}`;
    return new LockLostError(message, { key: this.key, method: this.terms.method, cause, lossReason });
  }
}
