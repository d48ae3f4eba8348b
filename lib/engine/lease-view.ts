import { validUntil } from './validity.js';

/** A question to the store about a hold, and when this client sent it. */
export interface Question {
  /** Questions about one grant are numbered in the order in which they are sent. */
  readonly number: number;
  readonly sent: number;
  /** The store's epoch when it was sent. */
  readonly epoch: number;
  /** ms of lease that it asks for, from then on; 0: it only looks. */
  readonly lease: number;
}

/** An extension that may be carried out behind what was asked after it: which lease is left then, and how late that may be. */
export interface LooseExtension {
  readonly lease: number;
  readonly until: number;
}

/** What a belief begins with. */
export interface LeaseGrant {
  /** ms that the store has given, counted from `from` or later. */
  readonly lease: number;
  readonly from: number;
  /** The longest lease that the store may have given it. */
  readonly longest: number;
  /** The store's epoch when the question was sent on which it rests. */
  readonly restsOn: number;
}

/**
 * What an answer comes to. `confirmed`: the belief stands, and may have grown. `lowered`: the store has less of the lease.
 * `unclear`: the answer was so slow that it may mean either. `ignored`: a newer answer, or an extension, has overtaken it.
 */
export type Verdict = 'confirmed' | 'lowered' | 'unclear' | 'ignored';

/** Until when a client may believe in a hold, by its own clock, and what the answers of the store make of that. */
export class LeaseView {
  private end: number;
  /** Until when the store may keep the hold, whatever comes of what was asked. */
  private mayLast: number;
  /** The lease that the holder was promised. The store may have less: at first after a pushed grant, or after a failover. */
  private promised: number;
  private promisedFrom: number;
  /** The epoch of the newest question whose answer it rests on. */
  private epoch: number;
  private asked = 0;
  private newestAnswered = 0;
  /** Answers to questions before this one do not count: the lease was shortened since. */
  private countsFrom = 0;
  private looseExtensions: readonly LooseExtension[] = [];
  private doubt = false;

  constructor(grant: LeaseGrant, lease: number) {
    this.end = validUntil(grant.from, Math.min(grant.lease, lease));
    this.mayLast = grant.from + grant.longest;
    this.promised = lease;
    this.promisedFrom = grant.from;
    this.epoch = grant.restsOn;
  }

  get until(): number {
    return this.end;
  }

  /** The newest answer was so slow that the store may have less than is believed. */
  get isUnclear(): boolean {
    return this.doubt;
  }

  /** Whether it rests on an answer from before the connection was lost, so that another server may have another lease. */
  isFromBefore(epoch: number): boolean {
    return this.epoch !== epoch;
  }

  /** ms that are left at `now` of what the holder was promised. */
  promisedLease(now: number): number {
    return Math.max(0, Math.ceil(this.promisedFrom + this.promised - now));
  }

  /** The same, if the store is not known to have so much; else 0. */
  missingLease(now: number): number {
    return validUntil(this.promisedFrom, this.promised) - this.end < 1 ? 0 : this.promisedLease(now);
  }

  /** A question is about to be sent. */
  ask(sent: number, epoch: number, lease: number): Question {
    this.mayLast = Math.max(this.mayLast, sent + lease);
    return { number: ++this.asked, sent, epoch, lease };
  }

  /**
   * The lease is about to be set to `lease` ms: belief shrinks when that is sent, and grows when it is confirmed. It may be
   * carried out up to `late` ms later, until it is `settled`: a Cluster's client tries again while a slot moves, and what is
   * sent again on another connection may have a copy on its way.
   */
  resize(sent: number, epoch: number, lease: number, late: number): [Question, LooseExtension] {
    const question = this.ask(sent, epoch, lease);
    this.countsFrom = question.number;
    this.promised = lease;
    this.promisedFrom = sent;
    this.end = Math.min(this.end, validUntil(sent, lease));
    const extension = { lease, until: sent + late };
    this.looseExtensions = [...this.looseExtensions, extension];
    return [question, extension];
  }

  /** An extension has been carried out, and will not be once more. */
  settled(extension: LooseExtension): void {
    this.looseExtensions = this.looseExtensions.filter((other) => other !== extension);
  }

  /** A renewal has been confirmed: the holder was promised its lease. */
  renewed({ sent, lease }: Question): void {
    if (sent + lease <= this.promisedFrom + this.promised) return;
    this.promised = lease;
    this.promisedFrom = sent;
  }

  /**
   * The store's answer to a question was received at `received`: `left` ms of lease were left. The store executed the
   * question between its sending and that, so the lease ends between `sent + left` and `received + left`.
   */
  answered({ number, sent, epoch }: Question, received: number, left: number): Verdict {
    if (number < this.countsFrom) return 'ignored';
    // Whatever comes late is carried out behind this question, and leaves its own lease from then on.
    const loose = this.looseExtensions.filter(({ until }) => sent < until);
    this.looseExtensions = loose;
    const certain = validUntil(sent, Math.min(left, ...loose.map((extension) => extension.lease)));
    // What is known already from a newer question cannot be contradicted by an older one.
    if (number < this.newestAnswered) {
      this.end = Math.max(this.end, certain);
      return 'ignored';
    }
    this.newestAnswered = number;
    const isAnotherServer = epoch > this.epoch;
    if (sent + left < this.end && received + left >= this.end && !isAnotherServer) {
      this.doubt = true;
      return 'unclear';
    }
    this.doubt = false;
    this.epoch = Math.max(this.epoch, epoch);
    const isContradicted = sent + left < this.end;
    // Another server has a clock of its own, so nothing that was allowed for an earlier one stands.
    this.end = isContradicted || isAnotherServer ? certain : Math.max(this.end, certain);
    // What is on its way yet, and was asked before, may be the answer of a server that is no more.
    if (isContradicted || isAnotherServer) this.countsFrom = number;
    return isContradicted ? 'lowered' : 'confirmed';
  }

  /**
   * Whether the lease does for the next one in turn without a word to the store: half of what a lease begins with is
   * ahead, no more than what that one asks for, and nothing speaks against it.
   */
  lastsFor(now: number, lease: number, grantTimeout: number): boolean {
    if (this.doubt || this.looseExtensions.some(({ until }) => now < until)) return false;
    return this.end - now >= Math.min(lease, grantTimeout) / 2 && this.mayLast - now <= lease;
  }

  /** The belief of the next one in turn, under the same grant: its lease has begun already. */
  passTo(now: number, lease: number): LeaseView {
    const next = new LeaseView({ from: now, lease, longest: lease, restsOn: this.epoch }, lease);
    next.end = Math.min(next.end, this.end);
    next.mayLast = this.mayLast;
    // Answers to what was asked for those before it count for the next one.
    next.asked = this.asked;
    next.newestAnswered = this.newestAnswered;
    next.countsFrom = this.countsFrom;
    return next;
  }
}
