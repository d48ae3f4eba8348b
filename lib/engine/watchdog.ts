import type { TimerQueue } from '../common/timer-queue.js';
import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import type { LockStore, RenewReply, RenewRequest } from '../store/lock-store.js';
import type { Question } from './lease-view.js';
import type { Hold } from './hold.js';

/** A lease is renewed when a third of it has gone by. */
const RENEW_AFTER = 1 / 3;
/** Renewals are due on a grid of this part of their lease, so that they go out together. */
const GRID = 1 / 30;
/** A renewal that failed is tried again after this part of what is left, at the earliest after so many ms. */
const RETRY_AFTER = 1 / 10;
const EARLIEST_RETRY = 10;

/** Who hears of renewals. */
export interface WatchdogObserver {
  renewed(hold: Hold): void;
  /** The store does not know the hold. */
  gone(hold: Hold): void;
  /** Who has it under the same grant by now: the hold itself, or one that it was passed on to. */
  holderOf(hold: Hold): Hold | undefined;
}

/** What is asked of a lease: 0 ms only looks. */
interface Wish {
  readonly lease: number;
  /** Whether it is one of `maxRenewTimes`. */
  readonly counts: boolean;
}

interface Renewal extends RenewRequest {
  readonly hold: Hold;
  readonly counts: boolean;
  readonly question: Question;
}

const LOOK: Wish = { lease: 0, counts: false };

/**
 * Renews the leases of all holds of a client, and tells each hold whose lease ends that it is lost. Due renewals go out
 * together. A hold leaves before its release is sent, so that no renewal outlives it.
 */
export class Watchdog {
  /** Who is being asked about, and by which question; `undefined`: it is about to be sent. */
  private readonly asked = new Map<Hold, Question | undefined>();
  private due: Array<{ readonly hold: Hold; readonly early: boolean }> = [];

  constructor(
    private readonly store: LockStore,
    private readonly clock: Clock,
    private readonly timers: TimerQueue,
    private readonly logger: LockLogger,
    private readonly observer: WatchdogObserver,
  ) {}

  watch(hold: Hold): void {
    hold.appointment = this.timers.add(this.nextLook(hold), () => this.look(hold));
  }

  /** Stops renewing, whatever is under way. */
  forget(hold: Hold): void {
    this.asked.delete(hold);
    this.timers.cancel(hold.appointment);
    hold.appointment = undefined;
  }

  /** Nobody can release this hold any more: it may end with its lease. */
  abandon(hold: Hold, why = `the handle of '${hold.key}' was dropped without release()`): void {
    if (hold.appointment === undefined || hold.abandoned) return;
    hold.abandoned = true;
    // Watched to its end all the same, or those who wait behind it in this client would never be asked for.
    this.reschedule(hold);
    this.logger.warn(`${why}: the lock is not renewed any more and ends with its lease`);
  }

  /** Asks the store about some holds out of turn. */
  askNow(holds: Iterable<Hold>): void {
    for (const hold of holds) this.enqueue(hold, true);
  }

  /** ms of lease to ask for when a holder wants to know whether its hold still stands; 0: only look. */
  leaseToVerify(hold: Hold): number {
    return hold.missingLease || (this.isInDoubt(hold) ? hold.promisedLease : 0);
  }

  /**
   * The store said that `left` ms are left. Answers whether to ask again at once: where the answer came so late that it may
   * mean either, and for the rest where the store has less than the holder was promised.
   */
  heard(hold: Hold, question: Question, left: number): boolean {
    const wasUnclear = hold.isUnclear;
    const verdict = hold.answered(question, left);
    if (verdict === 'ignored' || !hold.isHeld) return false;
    if (verdict === 'unclear' && wasUnclear) {
      this.retry(hold);
      return false;
    }
    this.reschedule(hold);
    return verdict === 'unclear' || (verdict === 'lowered' && !hold.abandoned && hold.missingLease > question.lease);
  }

  /** The lease of a hold has been set anew. */
  reschedule(hold: Hold): void {
    if (hold.appointment !== undefined) this.timers.move(hold.appointment, this.nextLook(hold));
  }

  private look(hold: Hold): void {
    if (!hold.isHeld) return;
    if (this.mayRenew(hold) || this.isInDoubt(hold)) this.enqueue(hold, false);
    // Whatever becomes of the renewal, the end of the belief is not missed.
    this.timers.move(hold.appointment!, hold.validUntil);
  }

  private enqueue(hold: Hold, early: boolean): void {
    if (this.asked.has(hold)) {
      const question = this.asked.get(hold);
      // One from before a reconnect may be without an answer for long, or have one of the server that is no more.
      if (question === undefined || question.epoch === this.store.epoch) return;
    }
    this.asked.set(hold, undefined);
    if (this.due.push({ hold, early }) === 1) queueMicrotask(() => void this.renewDue());
  }

  private async renewDue(): Promise<void> {
    const due = this.due.filter(({ hold }) => this.asked.has(hold) && hold.state === 'held');
    this.due = [];
    if (due.length === 0) return;
    const renewals = due.map(({ hold, early }) => this.renewalOf(hold, early));
    for (const { hold, question } of renewals) this.asked.set(hold, question);
    const replies = await this.store.renew(renewals);
    renewals.forEach((renewal, i) => this.answered(renewal, replies[i] as RenewReply));
  }

  private answered({ hold, question, counts }: Renewal, reply: RenewReply): void {
    const isLatest = this.asked.get(hold) === question;
    if (isLatest) this.asked.delete(hold);
    // What the store says of a grant holds for all who have it in turn, also when the one who asked is done.
    if (reply === 'gone') return this.observer.gone(hold);
    if (typeof reply === 'number') {
      const holder = this.observer.holderOf(hold);
      const again = holder !== undefined && this.heard(holder, question, reply);
      if (counts && hold.appointment !== undefined && hold.isHeld) this.count(hold, question);
      if (again) this.askNow([holder]);
    } else if (isLatest) {
      hold.renewalError = reply;
      this.logger.debug(`could not renew '${hold.key}', will try again: ${reply.message}`);
      this.retry(hold);
    }
  }

  private retry(hold: Hold): void {
    if (hold.appointment === undefined || !hold.isHeld) return;
    const now = this.clock.now();
    const at = now + Math.max(EARLIEST_RETRY, (hold.validUntil - now) * RETRY_AFTER);
    this.timers.move(hold.appointment, Math.min(at, hold.validUntil));
  }

  private count(hold: Hold, question: Question): void {
    hold.renewed(question);
    this.reschedule(hold);
    this.observer.renewed(hold);
    if (hold.renewals !== hold.terms.maxRenewTimes) return;
    const times = hold.renewals === 1 ? 'once' : `${hold.renewals} times`;
    this.logger.warn(
      `'${hold.key}' has been renewed ${times}, as often as maxRenewTimes allows: ` +
        `it ends in ${Math.round(hold.remaining)} ms`,
    );
  }

  private mayRenew(hold: Hold): boolean {
    const { renews, maxRenewTimes } = hold.terms;
    if (hold.abandoned) return false;
    return hold.missingLease > 0 || (renews && (maxRenewTimes === 0 || hold.renewals < maxRenewTimes));
  }

  /** The store may have another lease than is believed: its answer cannot tell, or the connection has been lost since. */
  private isInDoubt(hold: Hold): boolean {
    return hold.isUnclear || hold.isFromBefore(this.store.epoch);
  }

  private renewalOf(hold: Hold, early: boolean): Renewal {
    const { lease, counts } = this.wishFor(hold, early);
    const { key, id } = hold;
    return { hold, key, id, lease, counts, question: hold.ask(this.store.epoch, lease) };
  }

  /**
   * Asking for no more than the holder was promised does not count as a renewal. A hold that may not be renewed is only
   * looked at, and so is, out of turn, one whose renewals are counted; unless the store may have lost what was promised.
   */
  private wishFor(hold: Hold, early: boolean): Wish {
    const { terms, missingLease } = hold;
    if (hold.abandoned) return LOOK;
    if (missingLease > 0) return { lease: missingLease, counts: false };
    if (this.mayRenew(hold) && !(early && terms.maxRenewTimes > 0)) return { lease: terms.lease, counts: true };
    return this.isInDoubt(hold) ? { lease: hold.promisedLease, counts: false } : LOOK;
  }

  private nextLook(hold: Hold): number {
    if (!this.mayRenew(hold) && !hold.isUnclear) return hold.validUntil;
    const now = this.clock.now();
    const lease = Math.min(hold.terms.lease, hold.validUntil - now);
    // Its end has come just now; and a grid of nothing has no next point.
    if (lease <= 0) return hold.validUntil;
    const at = hold.validUntil - lease * (1 - RENEW_AFTER);
    const grid = (hold.missingLease > 0 ? lease : hold.terms.lease) * GRID;
    return Math.max(Math.floor(at / grid) * grid, now);
  }
}
