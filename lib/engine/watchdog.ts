import type { Agenda } from '../common/agenda.js';
import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import type { LockStore, RenewReply, RenewRequest } from '../store/lock-store.js';
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
}

interface Renewal extends RenewRequest {
  readonly hold: Hold;
  /** Whether it is one of `maxRenewTimes`. */
  readonly counts: boolean;
}

/**
 * Renews the leases of all holds of a client, and tells each hold whose lease ends that it is lost. Due renewals go out
 * together. A hold leaves before its release is sent, so that no renewal outlives it.
 */
export class Watchdog {
  private readonly asked = new Set<Hold>();
  private due: Array<{ readonly hold: Hold; readonly early: boolean }> = [];

  constructor(
    private readonly store: LockStore,
    private readonly clock: Clock,
    private readonly agenda: Agenda,
    private readonly logger: LockLogger,
    private readonly observer: WatchdogObserver,
  ) {}

  watch(hold: Hold): void {
    hold.appointment = this.agenda.add(this.nextLook(hold), () => this.look(hold));
  }

  /** Stops renewing, whatever is under way. */
  forget(hold: Hold): void {
    this.asked.delete(hold);
    this.agenda.cancel(hold.appointment);
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

  /** The lease of a hold has been set anew. */
  reschedule(hold: Hold): void {
    if (hold.appointment !== undefined) this.agenda.move(hold.appointment, this.nextLook(hold));
  }

  private look(hold: Hold): void {
    if (!hold.isHeld) return;
    if (this.mayRenew(hold)) this.enqueue(hold, false);
    // Whatever becomes of the renewal, the end of the belief is not missed.
    this.agenda.move(hold.appointment!, hold.validUntil);
  }

  private enqueue(hold: Hold, early: boolean): void {
    if (this.asked.has(hold)) return;
    this.asked.add(hold);
    if (this.due.push({ hold, early }) === 1) queueMicrotask(() => void this.renewDue());
  }

  private async renewDue(): Promise<void> {
    const due = this.due.filter(({ hold }) => this.asked.has(hold));
    this.due = [];
    if (due.length === 0) return;
    const sent = this.clock.now();
    const renewals = due.map(({ hold, early }) => this.renewalOf(hold, early));
    for (const { hold, lease } of renewals) hold.asksFor(sent, lease);
    const replies = await this.store.renew(renewals);
    renewals.forEach((renewal, i) => {
      const reply = replies[i] as RenewReply;
      // A grant that is gone is so for all who have it in turn, also when the one who asked is done.
      if (reply === 'gone') this.observer.gone(renewal.hold);
      if (this.asked.delete(renewal.hold)) this.answered(renewal, sent, reply);
    });
  }

  private answered({ hold, counts }: Renewal, sent: number, reply: RenewReply): void {
    if (reply === 'gone') return;
    if (typeof reply === 'number') {
      hold.confirm(sent, reply);
      if (!hold.isHeld) return;
      if (counts) this.count(hold);
      this.reschedule(hold);
    } else {
      hold.renewalError = reply;
      this.logger.debug(`could not renew '${hold.key}', will try again: ${reply.message}`);
      this.retry(hold);
    }
  }

  private retry(hold: Hold): void {
    if (!hold.isHeld) return;
    const now = this.clock.now();
    const at = now + Math.max(EARLIEST_RETRY, (hold.validUntil - now) * RETRY_AFTER);
    this.agenda.move(hold.appointment!, Math.min(at, hold.validUntil));
  }

  private count(hold: Hold): void {
    hold.renewals += 1;
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

  /**
   * Making a pushed grant a full lease does not count as a renewal. A hold that may not be renewed is only looked at, and
   * so is, out of turn, one whose renewals are counted.
   */
  private renewalOf(hold: Hold, early: boolean): Renewal {
    const { key, id, terms, missingLease } = hold;
    if (missingLease > 0 && !hold.abandoned) return { hold, key, id, lease: missingLease, counts: false };
    if (!this.mayRenew(hold) || (early && terms.maxRenewTimes > 0)) return { hold, key, id, lease: 0, counts: false };
    return { hold, key, id, lease: terms.lease, counts: true };
  }

  private nextLook(hold: Hold): number {
    if (!this.mayRenew(hold)) return hold.validUntil;
    const now = this.clock.now();
    const lease = Math.min(hold.terms.lease, hold.validUntil - now);
    // Its end has come just now; and a grid of nothing has no next point.
    if (lease <= 0) return hold.validUntil;
    const at = hold.validUntil - lease * (1 - RENEW_AFTER);
    const grid = (hold.missingLease > 0 ? lease : hold.terms.lease) * GRID;
    return Math.max(Math.floor(at / grid) * grid, now);
  }
}
