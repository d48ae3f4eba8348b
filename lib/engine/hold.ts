import type { Clock } from '../common/clock.js';
import { outside } from '../common/outside.js';
import type { Appointment } from '../common/agenda.js';
import { LockLostError } from '../errors/index.js';
import type { LockMode } from '../store/lock-store.js';
import { validUntil } from './validity.js';

export type { LockMode };

/** A grant as the engine believes in it: `from` is before the moment at which the store counts `lease` from. */
export interface Grant {
  readonly id: string;
  readonly token: number;
  readonly lease: number;
  readonly from: number;
  /** The longest lease that the store may have given it, with all that it was asked for. */
  readonly longest: number;
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

/** An extension that may be carried out behind what was asked after it: which lease is left then, and how late that may be. */
export interface LooseExtension {
  readonly lease: number;
  readonly until: number;
}

/** A listener of the user's; it may be asynchronous. */
export type LossListener = (error: LockLostError) => unknown;

/** Who hears of the end of a hold. */
export interface HoldObserver {
  lost(hold: Hold, error: LockLostError): void;
  /** Calls a listener of the user's, which may throw or reject. */
  tellLoss(listener: LossListener, error: LockLostError): unknown;
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
  renewals = 0;
  /** Nobody can release it any more: it is not renewed, and ends with its lease. */
  abandoned = false;
  /** The watchdog's entry. */
  appointment: Appointment | undefined;
  private listeners: Set<LossListener> | undefined;
  /** Its release, once that is under way. */
  release: Promise<boolean> | undefined;
  /** Why its latest renewal failed, until one is answered. */
  renewalError: Error | undefined;
  /** How it was lost, if it was. */
  loss: LockLostError | undefined;

  private until: number;
  /** Until when the store may keep it, whatever comes of what was asked. */
  private mayLast: number;
  /** A pushed grant has a short first lease, and is to become a full one, counted from when it was granted. */
  private fullFrom: number;
  private fullLease: number;
  /** Answers to what was sent before this do not count: the lease was shortened since. */
  private countsFrom: number;
  private looseExtensions: readonly LooseExtension[] = [];
  private controller: AbortController | undefined;

  constructor(
    public terms: HoldTerms,
    grant: Grant,
    private readonly clock: Clock,
    private readonly observer: HoldObserver,
  ) {
    this.id = grant.id;
    this.token = grant.token;
    this.firstToken = grant.token;
    this.epoch = grant.epoch;
    this.owner = terms.owner ?? grant.id;
    this.acquiredAt = clock.now();
    this.until = validUntil(grant.from, Math.min(grant.lease, terms.lease));
    this.mayLast = grant.from + grant.longest;
    this.countsFrom = grant.from;
    this.fullFrom = grant.from;
    this.fullLease = terms.lease;
  }

  get key(): string {
    return this.terms.key;
  }

  /** Until when the client may believe in this hold. */
  get validUntil(): number {
    return this.until;
  }

  /** By the clock, not by timers: right on the first line after a stall or a suspension, too. */
  get isHeld(): boolean {
    if (this.state !== 'held') return false;
    if (this.clock.now() < this.until) return true;
    this.lose('its lease ended before it was renewed or released');
    return false;
  }

  get remaining(): number {
    return this.isHeld ? this.until - this.clock.now() : 0;
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

  /** ms of lease, from now on, that make a pushed grant a full lease; 0 when it is one. */
  get missingLease(): number {
    if (validUntil(this.fullFrom, this.fullLease) - this.until < 1) return 0;
    return Math.ceil(this.fullFrom + this.fullLease - this.clock.now());
  }

  /** The store said, to a question sent at `sent`, that `lease` ms are left. */
  confirm(sent: number, lease: number): void {
    if (this.state !== 'held' || sent < this.countsFrom) return;
    this.renewalError = undefined;
    // Whatever comes late is carried out behind this question, and leaves its own lease from then on.
    const loose = this.looseExtensions.filter(({ until }) => sent < until);
    this.looseExtensions = loose;
    const safe = Math.min(lease, ...loose.map((extension) => extension.lease));
    this.until = Math.max(this.until, validUntil(sent, safe));
  }

  /** The store is about to be asked for a lease of `lease` ms. */
  asksFor(sent: number, lease: number): void {
    this.mayLast = Math.max(this.mayLast, sent + lease);
  }

  /**
   * The lease is about to be set to `lease` ms: belief shrinks when that is sent, and grows when it is confirmed. It may be
   * carried out up to `late` ms later, until it is `settled`: a Cluster's client tries again while a slot moves, and what is
   * sent again on another connection may have a copy on its way.
   */
  resize(sent: number, lease: number, late: number): LooseExtension {
    this.asksFor(sent, lease);
    this.countsFrom = sent;
    this.fullFrom = sent;
    this.fullLease = lease;
    this.until = Math.min(this.until, validUntil(sent, lease));
    const extension = { lease, until: sent + late };
    this.looseExtensions = [...this.looseExtensions, extension];
    return extension;
  }

  /** An extension has been carried out, and will not be once more. */
  settled(extension: LooseExtension): void {
    this.looseExtensions = this.looseExtensions.filter((other) => other !== extension);
  }

  /**
   * Whether its lease does for the next one in turn without a word to the store: half of what a lease begins with is
   * ahead, no more than what that one asks for, and nothing speaks against it.
   */
  lastsFor(terms: HoldTerms, grantTimeout: number): boolean {
    const now = this.clock.now();
    const { lease } = terms;
    if (this.looseExtensions.some(({ until }) => now < until)) return false;
    return this.until - now >= Math.min(lease, grantTimeout) / 2 && this.mayLast - now <= lease;
  }

  /** The hold of the next one in turn, under the same grant: its lease has begun already. */
  passTo(terms: HoldTerms): Hold {
    const { id, token, epoch, clock } = this;
    const { lease } = terms;
    const grant = { id, token: token + 1, turns: 1, lease, longest: lease, from: clock.now(), epoch };
    const next = new Hold(terms, grant, clock, this.observer);
    next.firstToken = this.firstToken;
    next.until = Math.min(next.until, this.until);
    next.mayLast = this.mayLast;
    next.countsFrom = this.countsFrom;
    return next;
  }

  /** Ends the hold as given back; answers whether it was held until now. */
  end(): boolean {
    const held = this.isHeld;
    if (held) this.state = 'released';
    return held;
  }

  /** Ends the hold under its holder, and tells everybody who wants to know. */
  lose(reason: string): void {
    if (this.state === 'lost') return;
    this.state = 'lost';
    this.loss = this.lostError(reason, this.renewalError);
    this.observer.lost(this, this.loss);
    outside(() => this.controller?.abort(this.loss));
    for (const listener of this.listeners ?? []) void this.observer.tellLoss(listener, this.loss);
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
