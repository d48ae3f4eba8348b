import type { Clock } from '../common/clock.js';
import { outside } from '../common/outside.js';
import type { TimerEntry } from '../common/timer-queue.js';
import { LockLostError } from '../errors/index.js';
import type { LockMode } from '../store/lock-store.js';
import { LeaseView, type LeaseGrant, type LooseExtension, type Question, type Verdict } from './lease-view.js';

export type { LockMode };

/** A grant as the engine believes in it: `from` is before the moment at which the store counts `lease` from. */
export interface Grant extends LeaseGrant {
  readonly id: string;
  readonly token: number;
  /** How many may have it in turn, with the tokens from `token` on. */
  readonly turns: number;
  /** The store's epoch when it was first asked for: a question from before a reconnect may be executed twice. */
  readonly epoch: number;
}

/** What a hold is made for. */
export interface HoldTerms {
  readonly key: string;
  readonly mode: LockMode;
  readonly owner: string | undefined;
  /** What observers are told of where the key came from: its template. */
  readonly pattern?: string | undefined;
  /** Whether it is served in the order in which all clients came, not after others of its own client. */
  readonly fair: boolean;
  /** Full lease in ms. */
  readonly lease: number;
  /** Whether the watchdog renews it, and how often at most (0: without limit). */
  readonly renews: boolean;
  readonly maxRenewTimes: number;
  /** ms for which the key stays taken at least. */
  readonly holdAtLeast: number;
  /** How many replicas must have the hold before anybody believes in it. */
  readonly replicas: ReplicaTerms | undefined;
}

export interface ReplicaTerms {
  readonly min: number;
  /** ms */
  readonly timeout: number;
}

/** A listener of the user's; it may be asynchronous. */
export type LossListener = (error: LockLostError) => unknown;

/** Who hears of the end of a hold. */
export interface HoldObserver {
  /** Calls a listener of the user's, which may throw or reject. */
  tellLoss(listener: LossListener, error: LockLostError): unknown;
  /** The hold is lost, and its holder has been told. */
  lost(hold: Hold, error: LockLostError): void;
}

/**
 * One hold of a key, and until when the client may believe in it. The states: held, then either released (given back)
 * or lost (ended under its holder); never back again.
 */
export class Hold {
  readonly id: string;
  readonly token: number;
  /** The token of the first who had it under this grant. */
  firstToken: number;
  readonly epoch: number;
  readonly owner: string;
  /** Somebody was told the owner, and may hold the key elsewhere under that name. */
  ownerIsKnown = false;
  readonly acquiredAt: number;
  state: 'held' | 'released' | 'lost' = 'held';
  /** Handles that share this hold by re-entry. */
  handles = 0;
  /** Those of them that nobody is going to release. */
  forgottenHandles = 0;
  renewals = 0;
  /** Nobody can release it any more: it is not renewed, and ends with its lease. */
  abandoned = false;
  /** The watchdog's entry. */
  appointment: TimerEntry | undefined;
  private listeners: Set<LossListener> | undefined;
  /** Its release, once that is under way. */
  release: Promise<boolean> | undefined;
  /** Why its latest renewal failed, until one is answered. */
  renewalError: Error | undefined;
  /** How it was lost, if it was. */
  loss: LockLostError | undefined;

  private fullLease: number;
  private controller: AbortController | undefined;

  constructor(
    public terms: HoldTerms,
    grant: Grant,
    private readonly clock: Clock,
    private readonly observer: HoldObserver,
    private readonly belief = new LeaseView(grant, terms.lease),
  ) {
    this.id = grant.id;
    this.token = grant.token;
    this.firstToken = grant.token;
    this.epoch = grant.epoch;
    this.owner = terms.owner ?? grant.id;
    this.acquiredAt = clock.now();
    this.fullLease = terms.lease;
  }

  get key(): string {
    return this.terms.key;
  }

  /** Until when the client may believe in this hold. */
  get validUntil(): number {
    return this.belief.until;
  }

  /** By the clock, not by timers: right on the first line after a stall or a suspension, too. */
  get isHeld(): boolean {
    if (this.state !== 'held') return false;
    if (this.clock.now() < this.belief.until) return true;
    this.lose('its lease ended before it was renewed or released');
    return false;
  }

  get remaining(): number {
    return this.isHeld ? this.belief.until - this.clock.now() : 0;
  }

  /** The full lease in ms: as it was asked for, or set last by `extend`. */
  get lease(): number {
    return this.fullLease;
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.loss !== undefined) this.controller.abort(this.loss);
    return this.controller.signal;
  }

  /** @throws LockLostError */
  assertHeld(): void {
    if (!this.isHeld) throw this.loss ?? this.lostError('it has been released');
  }

  /** The newest answer was so slow that the store may have less of the lease than is believed. */
  get isUnclear(): boolean {
    return this.belief.isUnclear;
  }

  /** Whether its belief rests on an answer from before an epoch of the store. */
  isFromBefore(epoch: number): boolean {
    return this.belief.isFromBefore(epoch);
  }

  /** ms of lease, from now on, that the store lacks of what the holder was promised; 0: nothing is missing. */
  get missingLease(): number {
    return this.belief.missingLease(this.clock.now());
  }

  /** ms that are left of what the holder was promised. */
  get promisedLease(): number {
    return this.belief.promisedLease(this.clock.now());
  }

  /** The store is about to be asked for a lease of `lease` ms; 0: how much is left. */
  ask(epoch: number, lease: number): Question {
    return this.belief.ask(this.clock.now(), epoch, lease);
  }

  /** The store said, to a question about this hold or about one that passed it on, that `lease` ms are left. */
  answered(question: Question, lease: number): Verdict {
    if (this.state !== 'held') return 'ignored';
    const verdict = this.belief.answered(question, this.clock.now(), lease);
    if (verdict === 'ignored') return verdict;
    this.renewalError = undefined;
    return verdict;
  }

  /** One of its renewals has been confirmed. */
  renewed(question: Question): void {
    this.renewals += 1;
    this.belief.renewed(question);
  }

  /** The lease is about to be set to `lease` ms; see `Belief.resize`. */
  resize(epoch: number, lease: number, late: number): [Question, LooseExtension] {
    this.fullLease = lease;
    return this.belief.resize(this.clock.now(), epoch, lease, late);
  }

  /** An extension has been carried out, and will not be once more. */
  settled(extension: LooseExtension): void {
    this.belief.settled(extension);
  }

  /** Whether its lease does for the next one in turn without a word to the store. */
  lastsFor({ lease }: HoldTerms, grantTimeout: number): boolean {
    return this.belief.lastsFor(this.clock.now(), lease, grantTimeout);
  }

  /** The hold of the next one in turn, under the same grant: its lease has begun already. */
  passTo(terms: HoldTerms): Hold {
    const { id, token, epoch, clock } = this;
    const { lease } = terms;
    const from = clock.now();
    const grant = { id, token: token + 1, turns: 1, lease, longest: lease, from, epoch, restsOn: epoch };
    const next = new Hold(terms, grant, clock, this.observer, this.belief.passTo(from, lease));
    next.firstToken = this.firstToken;
    return next;
  }

  /** Ends the hold as given back; answers whether it was held until now. */
  end(): boolean {
    const held = this.isHeld;
    if (held) this.state = 'released';
    return held;
  }

  /**
   * Ends the hold under its holder. Its own state comes first, then its signal, then its holder's listeners. All others are told
   * behind that, and never within a property that somebody looks at: what they do then is their own, and may send commands.
   */
  lose(reason: string): void {
    if (this.state === 'lost') return;
    this.state = 'lost';
    const loss = (this.loss = this.lostError(reason, this.renewalError));
    outside(() => {
      this.controller?.abort(loss);
      for (const listener of this.listeners ?? []) void this.observer.tellLoss(listener, loss);
      queueMicrotask(() => this.observer.lost(this, loss));
    });
  }

  /** Has `listener` called when the hold is lost, before anybody else can have the key. */
  onLost(listener: LossListener): void {
    (this.listeners ??= new Set()).add(listener);
  }

  offLost(listener: LossListener): void {
    this.listeners?.delete(listener);
  }

  private lostError(reason: string, cause?: Error): LockLostError {
    return new LockLostError(`the lock '${this.key}' is not held any more: ${reason}`, { key: this.key, cause });
  }
}
