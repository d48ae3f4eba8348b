/** A request to the store about a grant. */
export interface LeaseRequest {
  /** Requests about one grant are numbered in the order in which the client sends them. */
  readonly number: number;
  /** When the client sent it. */
  readonly sent: number;
  /** The store's epoch at that time. */
  readonly epoch: number;
  /** ms of lease that it asks for, from `sent` on; 0: it only looks. */
  readonly lease: number;
}

/** The lease that a view begins with. */
export interface LeaseGrant {
  /** ms that the store has granted, counted from `from` or later. */
  readonly lease: number;
  readonly from: number;
  /** The longest lease that the store may have granted. */
  readonly longest: number;
  /** The store's epoch at the request whose reply is the grant. */
  readonly restsOn: number;
}

/**
 * The effect of a reply. `confirmed`: the view stands, and may have grown. `lowered`: the store has less of the lease.
 * `unclear`: the reply was so slow that it may mean either. `ignored`: a newer reply has overtaken it.
 */
export type Verdict = 'confirmed' | 'lowered' | 'unclear' | 'ignored';

/**
 * What a client knows of the lease of a grant in the store: until when it stands for certain, by the client's own clock, after
 * each reply. Each hold under the grant has its own promise besides, see `Hold`.
 */
export class LeaseView {
  /** Until when the store keeps the grant for certain. */
  until: number;
  /** Until when the store may keep the grant, whatever the result of the requests under way. */
  lastsUntil: number;
  /** The length in ms of the lease that was set last. Replies that only tell how much of it is left do not change it. */
  length: number;
  /** The newest reply was so slow that the store may have less of the lease than the view says. */
  isUnclear = false;
  /** The epoch of the newest request whose reply the view rests on. */
  private epoch: number;
  private asked = 0;
  private newestReplied = 0;
  /** Replies to requests before this one do not count: they may come from a server that is gone. */
  private countsFrom = 0;

  constructor({ from, lease, longest, restsOn }: LeaseGrant) {
    this.until = validUntil(from, lease);
    this.lastsUntil = from + longest;
    this.length = lease;
    this.epoch = restsOn;
  }

  /** Whether the view rests on a reply from before the connection was lost. Another server may have another lease. */
  isFromBefore(epoch: number): boolean {
    return this.epoch !== epoch;
  }

  /** Numbers a request that is about to be sent. */
  ask(sent: number, epoch: number, lease: number): LeaseRequest {
    this.lastsUntil = Math.max(this.lastsUntil, sent + lease);
    return { number: ++this.asked, sent, epoch, lease };
  }

  /**
   * Takes the reply to a request, received at `received`: `left` ms of lease were left. The store executed the request
   * between sending and receiving, so the lease ends between `sent + left` and `received + left`.
   */
  replied({ number, sent, epoch, lease }: LeaseRequest, received: number, left: number): Verdict {
    if (number < this.countsFrom) return 'ignored';
    const certain = validUntil(sent, left);
    // An older reply cannot contradict a newer one.
    if (number < this.newestReplied) {
      this.until = Math.max(this.until, certain);
      return 'ignored';
    }
    this.newestReplied = number;
    const isAnotherServer = epoch > this.epoch;
    if (sent + left < this.until && received + left >= this.until && !isAnotherServer) {
      this.isUnclear = true;
      return 'unclear';
    }
    this.isUnclear = false;
    this.epoch = Math.max(this.epoch, epoch);
    const isContradicted = sent + left < this.until;
    // Another server has its own clock, so nothing stands that was allowed for an earlier one.
    this.until = isContradicted || isAnotherServer ? certain : Math.max(this.until, certain);
    // A request for less than is left has set nothing.
    if (lease > 0 && left <= lease && this.until === certain) this.length = left;
    // A reply that is still under way to an earlier request may come from a server that is gone.
    if (isContradicted || isAnotherServer) this.countsFrom = number;
    return isContradicted ? 'lowered' : 'confirmed';
  }
}

/** Part of a lease that the client does not rely on, since clocks run at different speeds. */
const DRIFT = 0.01;
/** ms that rounding costs, on both sides. */
const ROUNDING = 2;

/**
 * Until when a client may rely on a lease, on its own monotonic clock. `from` is when the client *sent* the request, never
 * when the reply arrived. The store counts the lease from a later moment, so the client's view ends first. A whole number:
 * V8 keeps others in an object of their own, and each held lock has several such times.
 */
export function validUntil(from: number, lease: number): number {
  return Math.floor(from + lease * (1 - DRIFT) - ROUNDING);
}

/**
 * The time, on the client's clock, of something that the store did `elapsed` ms (on the store's clock) after it replied to a
 * request that was sent at `sent`. Never later than the real time, however fast the store's clock runs.
 */
export function elapsedSince(sent: number, elapsed: number): number {
  return sent + elapsed * (1 - DRIFT);
}
