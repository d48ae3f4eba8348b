import { RepeatedWarnings } from '../common/repeated-warnings.js';
import { isLockStoreError } from '../errors/index.js';
import type { RenewReply, RenewRequest } from '../store/lock-store.js';
import type { EngineContext } from './engine-context.js';
import type { Hold } from './hold.js';
import type { Question } from './lease-view.js';
import type { Releases } from './releases.js';

/** Renewals are due on a grid of this part of their lease, so that they are sent together. */
const GRID = 1 / 30;
/** A renewal is late if it is confirmed after this part of the lease, counted from when it was due. */
const TOLERATED = 1 / 10;
/** How many renewals are sent before the event loop continues: two commands of a `RedisStore`. */
const RENEWALS_PER_TURN = 96;
/** A failed renewal is retried after this part of what is left, at the earliest and at the latest after so many ms. */
const RETRY_AFTER = 1 / 10;
const EARLIEST_RETRY = 10;
const LATEST_RETRY = 3_000;

/** For so many ms the lateness of a renewal is remembered: no metrics are collected while the event loop is blocked. */
const LAG_KEPT = 120_000;

/** What a renewal asks for. */
interface Wish {
  /** ms; 0 only looks. */
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
 * Renews the leases of all holds of a client, and ends each hold whose lease ends. Renewals that are due are sent together.
 * A hold is removed before its release is sent, so no renewal follows the release.
 */
export class Watchdog {
  /** The holds that the store is being asked about, and the question; `undefined`: it is about to be sent. */
  private readonly asked = new Map<Hold, Question | undefined>();
  private readonly warnings: RepeatedWarnings;
  private worst = { late: 0, at: -Infinity };
  private due: Array<{ readonly hold: Hold; readonly early: boolean }> = [];

  constructor(
    private readonly context: EngineContext,
    private readonly releases: Releases,
  ) {
    this.warnings = new RepeatedWarnings(context.logger, context.clock);
  }

  /** Renews a hold from now on. */
  add(hold: Hold): void {
    hold.watch = this.context.timers.add(this.nextLook(hold), () => this.look(hold));
  }

  /** Stops renewing a hold, whatever is under way. */
  remove(hold: Hold): void {
    // After a block of the event loop the loss may be found before the watchdog looks.
    this.noteLag(hold);
    this.asked.delete(hold);
    this.context.timers.cancel(hold.watch);
    hold.watch = undefined;
  }

  /** No handle can release this hold any more: it ends with its lease. */
  abandon(hold: Hold, why = `the handle of '${hold.key}' was dropped without release()`): void {
    if (hold.state !== 'held' || hold.isAbandoned) return;
    hold.abandon();
    // Still watched to its end: only then the queue asks the store for its next waiter.
    this.reschedule(hold);
    this.context.logger.warn(`${why}: the lock is not renewed any more and ends with its lease`);
  }

  /** How late the most overdue renewal of the last two minutes was, in ms. */
  get worstLag(): number {
    return this.context.clock.now() - this.worst.at < LAG_KEPT ? this.worst.late : 0;
  }

  /** Asks the store about some holds now. */
  renewNow(holds: Iterable<Hold>): void {
    for (const hold of holds) this.enqueue(hold, true);
  }

  /** ms of lease to ask for in order to verify a hold; 0: only look. */
  leaseToVerify(hold: Hold): number {
    return hold.missingLease || (this.isInDoubt(hold) ? hold.promisedLease : 0);
  }

  /**
   * Takes the store's answer about a hold: `left` ms are left. Returns whether to ask again at once: if the answer was too
   * slow to tell, and for the rest if the store has less than the holder was promised.
   */
  answered(asked: Hold, question: Question, left: number): boolean {
    // An answer about a grant counts for its current holder, even if the lock was handed off since the question.
    const hold = asked.currentHolder;
    const wasUnclear = hold.isUnclear;
    const verdict = hold.answered(question, left);
    if (verdict === 'ignored' || !hold.isHeld) return false;
    if (verdict === 'unclear' && wasUnclear) {
      this.retry(hold);
      return false;
    }
    this.reschedule(hold);
    return verdict === 'unclear' || (verdict === 'lowered' && !hold.isAbandoned && hold.missingLease > question.lease);
  }

  /** The store does not know a hold. */
  notHeld(asked: Hold): void {
    // After a release the answer says nothing.
    const hold = asked.currentHolder;
    if (hold.state !== 'held') return;
    const lost = hold.shared ?? hold;
    lost.lose('unknown');
    // The last of the holds that share it is released with its loss.
    if (hold.shared !== undefined) return;
    // So that waiters do not wait for a lease that may still stand somewhere.
    this.releases.leave(hold.key, hold.id, this.releases.tombstoneFor(hold.epoch));
  }

  /** The lease of a hold was set anew. */
  reschedule(hold: Hold): void {
    if (hold.watch !== undefined) this.context.timers.move(hold.watch, this.nextLook(hold));
  }

  private look(hold: Hold): void {
    this.noteLag(hold);
    // Ends a hold whose lease is over.
    if (!hold.isHeld) return;
    if (this.mayRenew(hold) || this.isInDoubt(hold)) this.enqueue(hold, false);
    // The watchdog looks again when the lease ends, whatever the result of the renewal.
    this.context.timers.move(hold.watch!, hold.validUntil);
  }

  private noteLag(hold: Hold): void {
    const late = this.mayRenew(hold) ? this.context.clock.now() - hold.renewalDue : 0;
    if (late > 0 && late >= this.worstLag) this.worst = { late, at: this.context.clock.now() };
  }

  private enqueue(hold: Hold, early: boolean): void {
    if (this.asked.has(hold)) {
      const question = this.asked.get(hold);
      // A question from before a reconnect may stay unanswered for long, or be answered by a server that is gone.
      if (question === undefined || question.epoch === this.context.store.epoch) return;
    }
    this.asked.set(hold, undefined);
    if (this.due.push({ hold, early }) === 1) queueMicrotask(() => this.renewDue());
  }

  private renewDue(): void {
    const due = this.due.splice(0, RENEWALS_PER_TURN);
    if (this.due.length > 0) this.context.timers.add(this.context.clock.now(), () => this.renewDue());
    void this.renew(due.filter(({ hold }) => this.asked.has(hold) && hold.state === 'held'));
  }

  private async renew(due: Watchdog['due']): Promise<void> {
    if (due.length === 0) return;
    const renewals = due.map(({ hold, early }) => this.renewalOf(hold, early));
    for (const { hold, question } of renewals) this.asked.set(hold, question);
    const requests = requestsFor(renewals);
    const ids = [...requests.keys()];
    const replies = await this.context.store.renew([...requests.values()]);
    const replyTo = new Map(ids.map((id, i) => [id, replies[i] as RenewReply]));
    for (const renewal of renewals) this.renewed(renewal, replyTo.get(renewal.id)!);
  }

  private renewed({ hold, question, counts }: Renewal, reply: RenewReply): void {
    const isLatest = this.asked.get(hold) === question;
    if (isLatest) this.asked.delete(hold);
    if (reply === 'not-held') return this.notHeld(hold);
    if (typeof reply === 'number') {
      const late = this.lateness(hold);
      const again = this.answered(hold, question, reply);
      if (counts && hold.watch !== undefined && hold.isHeld) this.count(hold, question, late);
      if (again) this.renewNow([hold.currentHolder]);
    } else if (isLatest) {
      hold.renewalFailed(reply);
      this.reportFailure(hold, reply);
      this.retry(hold);
    }
  }

  /** An error that lasts is a warning, since the lock will be lost; once in a while, as it may concern many holds. */
  private reportFailure({ key, remaining }: Hold, error: Error): void {
    const isLasting = isLockStoreError(error) && !error.transient;
    const lost = `lost in ${Math.round(remaining)} ms unless a further try succeeds`;
    if (isLasting && this.warnings.warn(error.message, `could not renew '${key}', which is ${lost}: ${error.message}`))
      return;
    this.context.logger.debug(`could not renew '${key}', will try again: ${error.message}`);
  }

  private retry(hold: Hold): void {
    if (hold.watch === undefined || !hold.isHeld) return;
    const { clock, timers } = this.context;
    const now = clock.now();
    const delay = Math.max(EARLIEST_RETRY, Math.min((hold.validUntil - now) * RETRY_AFTER, LATEST_RETRY));
    const due = this.nextLook(hold, now);
    timers.move(hold.watch, Math.min(now + delay, due > now ? due : hold.validUntil));
  }

  /** For how many ms the renewal of a hold has been due; 0 if it is in time. */
  private lateness({ renewalDue, terms: { lease } }: Hold): number {
    const late = this.context.clock.now() - renewalDue;
    return late > lease * TOLERATED ? Math.round(late) : 0;
  }

  private count(hold: Hold, question: Question, late: number): void {
    hold.renewed(question);
    this.context.identity.cover(this.context.clock.now(), hold.lastLease);
    this.reschedule(hold);
    this.context.events.renewed(hold, late);
    if (hold.renewals !== hold.terms.maxRenewTimes) return;
    const times = hold.renewals === 1 ? 'once' : `${hold.renewals} times`;
    this.context.logger.warn(
      `'${hold.key}' has been renewed ${times}, as often as maxRenewTimes allows: ` +
        `it ends in ${Math.round(hold.remaining)} ms`,
    );
  }

  private mayRenew(hold: Hold): boolean {
    const { renews, maxRenewTimes } = hold.terms;
    if (hold.isAbandoned) return false;
    return hold.missingLease > 0 || (renews && (maxRenewTimes === 0 || hold.renewals < maxRenewTimes));
  }

  /** The store may have another lease than the client relies on: the answer was unclear, or the connection was lost since. */
  private isInDoubt(hold: Hold): boolean {
    return hold.isUnclear || hold.isFromBefore(this.context.store.epoch);
  }

  private renewalOf(hold: Hold, early: boolean): Renewal {
    const { lease, counts } = this.wishFor(hold, early);
    const { key, storeId: id } = hold;
    return { hold, key, id, lease, counts, question: hold.ask(this.context.store.epoch, lease) };
  }

  /**
   * A question that asks for no more than the holder was promised does not count as a renewal. The watchdog only looks at a
   * hold that may not be renewed, and, out of turn, at a hold whose renewals are counted, unless the store may have lost
   * what was promised.
   */
  private wishFor(hold: Hold, early: boolean): Wish {
    const { terms, missingLease } = hold;
    if (hold.isAbandoned) return LOOK;
    if (missingLease > 0) return { lease: missingLease, counts: false };
    if (this.mayRenew(hold) && !(early && terms.maxRenewTimes > 0)) return { lease: terms.lease, counts: true };
    return this.isInDoubt(hold) ? { lease: hold.promisedLease, counts: false } : LOOK;
  }

  private nextLook(hold: Hold, now = this.context.clock.now()): number {
    const { validUntil, renewalDue, terms } = hold;
    if (!this.mayRenew(hold) && !hold.isUnclear) return validUntil;
    const grid = Math.max(1, Math.min(terms.lease, validUntil - renewalDue) * GRID);
    return Math.min(Math.max(Math.floor(renewalDue / grid) * grid, now), validUntil);
  }
}

/** What the store is asked, by the id of the hold: the longest lease for holds that share one. Plain data, since a store may send it on. */
function requestsFor(renewals: readonly Renewal[]): Map<string, RenewRequest> {
  const requests = new Map<string, RenewRequest>();
  for (const { key, id, lease } of renewals) {
    const longest = Math.max(lease, requests.get(id)?.lease ?? 0);
    requests.set(id, { key, id, lease: longest });
  }
  return requests;
}
