import { validUntil } from './validity.js';

/** A renewal is due when this part of a lease is left. */
const RENEW_AT = 2 / 3;

/** A question to the store about a hold. */
export interface Question {
  /** Questions about one grant are numbered in the order in which the client sends them. */
  readonly number: number;
  /** When the client sent it. */
  readonly sent: number;
  /** The store's epoch at that time. */
  readonly epoch: number;
  /** ms of lease that it asks for, from `sent` on; 0: it only looks. */
  readonly lease: number;
}

/** An extension that the store may still execute behind later questions. */
export interface LooseExtension {
  /** The lease that is left then, in ms. */
  readonly lease: number;
  /** Until when the store may execute it. */
  readonly until: number;
}

/** The grant that a view begins with. */
export interface LeaseGrant {
  /** ms that the store has granted, counted from `from` or later. */
  readonly lease: number;
  readonly from: number;
  /** The longest lease that the store may have granted. */
  readonly longest: number;
  /** The store's epoch at the question that the grant answers. */
  readonly restsOn: number;
}

/**
 * The effect of an answer. `confirmed`: the view stands, and may have grown. `lowered`: the store has less of the lease.
 * `unclear`: the answer was so slow that it may mean either. `ignored`: a newer answer or an extension has overtaken it.
 */
export type Verdict = 'confirmed' | 'lowered' | 'unclear' | 'ignored';

/** What a client knows of the lease of a hold: until when it may rely on it, by its own clock, after each answer. */
export class LeaseView {
  private end: number;
  private mayLast: number;
  /** The lease that the holder was promised. The store may have less: first after a pushed grant, or after a failover. */
  private promised: number;
  private promisedFrom: number;
  /** The length of the lease that was set last. Answers that only tell how much of it is left do not change it. */
  private full: number;
  /** The epoch of the newest question whose answer the view rests on. */
  private epoch: number;
  private asked = 0;
  private newestAnswered = 0;
  /** Answers to questions before this one do not count: the lease was shortened since. */
  private countsFrom = 0;
  private looseExtensions: readonly LooseExtension[] = [];
  private unclear = false;

  constructor(
    grant: LeaseGrant,
    lease: number,
    /** Whether others rely on the same lease in the store. They may have asked for more than this holder was promised. */
    private readonly isShared = false,
  ) {
    this.end = validUntil(grant.from, Math.min(grant.lease, lease));
    this.mayLast = grant.from + grant.longest;
    this.promised = lease;
    this.promisedFrom = grant.from;
    this.full = Math.min(grant.lease, lease);
    this.epoch = grant.restsOn;
  }

  /** Until when the client may rely on the hold. */
  get until(): number {
    return this.end;
  }

  /**
   * When a lease that is renewed to `lease` ms is due: a third of it after it was set last. Counted from its end, so no answer
   * moves the renewal.
   */
  renewalDue(lease: number): number {
    return this.end - Math.min(lease, this.full) * RENEW_AT;
  }

  /** The newest answer was so slow that the store may have less of the lease than the view says. */
  get isUnclear(): boolean {
    return this.unclear;
  }

  /** Until when the store may keep the hold, whatever the result of the questions under way. */
  get lastsUntil(): number {
    return this.mayLast;
  }

  /** Whether the view rests on an answer from before the connection was lost. Another server may have another lease. */
  isFromBefore(epoch: number): boolean {
    return this.epoch !== epoch;
  }

  /** ms that are left at `now` of the lease that the holder was promised. */
  promisedLease(now: number): number {
    return Math.max(0, Math.ceil(this.promisedFrom + this.promised - now));
  }

  /** The same if the store may have less; otherwise 0. */
  missingLease(now: number): number {
    return this.lacksLease ? this.promisedLease(now) : 0;
  }

  /** Whether the store may have less of the lease than the holder was promised. Needs no look at the clock. */
  get lacksLease(): boolean {
    return validUntil(this.promisedFrom, this.promised) - this.end >= 1;
  }

  /** Numbers a question that is about to be sent. */
  ask(sent: number, epoch: number, lease: number): Question {
    this.mayLast = Math.max(this.mayLast, sent + lease);
    return { number: ++this.asked, sent, epoch, lease };
  }

  /**
   * Numbers a question that sets the lease to `lease` ms. The view shrinks now and grows when the store confirms. Until
   * `settled`, the store may execute the question up to `late` ms later: a Cluster client retries while a slot moves, and a
   * command that was sent again may have a copy under way.
   */
  resize(sent: number, epoch: number, lease: number, late: number): [Question, LooseExtension] {
    const question = this.ask(sent, epoch, lease);
    this.countsFrom = question.number;
    this.promised = lease;
    this.promisedFrom = sent;
    this.end = Math.min(this.end, validUntil(sent, lease));
    this.measure();
    const extension = { lease, until: sent + late };
    this.looseExtensions = [...this.looseExtensions, extension];
    return [question, extension];
  }

  /** The store has executed an extension, and will not execute it again. */
  settled(extension: LooseExtension): void {
    this.looseExtensions = this.looseExtensions.filter((other) => other !== extension);
  }

  /** The store has confirmed a renewal: the holder was promised its lease. */
  renewed({ sent, lease }: Question): void {
    if (sent + lease <= this.promisedFrom + this.promised) return;
    this.promised = lease;
    this.promisedFrom = sent;
    this.measure();
  }

  /**
   * Takes the answer to a question, received at `received`: `left` ms of lease were left. The store executed the question
   * between sending and receiving, so the lease ends between `sent + left` and `received + left`.
   */
  answered({ number, sent, epoch, lease }: Question, received: number, left: number): Verdict {
    if (number < this.countsFrom) return 'ignored';
    // An extension that is still under way runs behind this question, and leaves its own lease from then on.
    const loose = this.looseExtensions.filter(({ until }) => sent < until);
    this.looseExtensions = loose;
    const own = this.isShared ? Math.max(lease, this.promisedFrom + this.promised - sent) : Infinity;
    const granted = Math.min(left, own, ...loose.map((extension) => extension.lease));
    const certain = validUntil(sent, granted);
    // An older answer cannot contradict a newer one.
    if (number < this.newestAnswered) {
      this.end = Math.max(this.end, certain);
      this.measure();
      return 'ignored';
    }
    this.newestAnswered = number;
    const isAnotherServer = epoch > this.epoch;
    if (sent + left < this.end && received + left >= this.end && !isAnotherServer) {
      this.unclear = true;
      return 'unclear';
    }
    this.unclear = false;
    this.epoch = Math.max(this.epoch, epoch);
    const isContradicted = sent + left < this.end;
    // Another server has its own clock, so nothing stands that was allowed for an earlier one.
    this.end = isContradicted || isAnotherServer ? certain : Math.max(this.end, certain);
    this.measure(lease > 0 && this.end === certain ? granted : undefined);
    // An answer that is still under way to an earlier question may come from a server that is gone.
    if (isContradicted || isAnotherServer) this.countsFrom = number;
    return isContradicted ? 'lowered' : 'confirmed';
  }

  /**
   * Whether the lease is long enough to hand the lock to the next local waiter without a command: half of a first lease is
   * left, the store keeps the hold no longer than `lease`, and no answer is in doubt.
   */
  lastsFor(now: number, lease: number, grantTimeout: number): boolean {
    if (this.unclear || this.looseExtensions.some(({ until }) => now < until)) return false;
    return this.end - now >= Math.min(lease, grantTimeout) / 2 && this.mayLast - now <= lease;
  }

  /** The view of the next local holder under the same grant: its lease has begun already. */
  passTo(now: number, lease: number): LeaseView {
    const next = new LeaseView({ from: now, lease, longest: lease, restsOn: this.epoch }, lease, this.isShared);
    next.end = Math.min(next.end, this.end);
    next.mayLast = this.mayLast;
    // The next holder has to rely on a lease that was set before.
    if (next.lacksLease) next.full = this.full;
    // Answers to questions of earlier holders count for the next one.
    next.asked = this.asked;
    next.newestAnswered = this.newestAnswered;
    next.countsFrom = this.countsFrom;
    return next;
  }

  /** The lease was set anew. `granted`: to how many ms, if the store may have less than the holder was promised. */
  private measure(granted = this.full): void {
    this.full = this.lacksLease ? granted : this.promised;
  }
}
