import { withoutNumbers } from '../common/describe.js';
import { RepeatedWarnings } from '../common/repeated-warnings.js';
import { isLockStoreError } from '../errors/index.js';
import type { RenewReply } from '../store/lock-store.js';
import type { ClientGrant, Hold } from './hold.js';
import type { EngineContext } from './engine-context.js';
import type { LeaseRequest } from './lease-view.js';
import type { Releases } from './releases.js';

/** Renewals are due on a grid of about this part of the time that they have, so that they are sent together. */
const GRID = 1 / 16;
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

/** What a hold asks for. */
interface Wish {
  /** ms; 0 only looks. */
  readonly lease: number;
  /** Whether it is one of `maxRenewTimes`. */
  readonly counts: boolean;
}

/** A grant that is renewed, for the longest of the leases that its holds ask for. */
interface Renewal {
  readonly grant: ClientGrant;
  readonly request: LeaseRequest;
  /** The holds for which this is a renewal, and the lease of each. */
  readonly counted: ReadonlyArray<{ readonly hold: Hold; readonly lease: number }>;
}

const LOOK: Wish = { lease: 0, counts: false };

/**
 * Renews the leases of all grants of a client, and ends each hold whose lease ends. Renewals that are due are sent together.
 * A hold is removed before its release is sent, so no renewal follows the release.
 */
export class Watchdog {
  /** The latest request about each grant, until its reply. */
  private readonly asked = new Map<ClientGrant, LeaseRequest>();
  private readonly warnings: RepeatedWarnings;
  private worst = { late: 0, at: -Infinity };
  /** The grants to ask about, and the holds whose turn it is; the others are asked about early. */
  private readonly due = new Map<ClientGrant, Set<Hold>>();

  constructor(
    private readonly context: EngineContext,
    private readonly releases: Releases,
  ) {
    this.warnings = new RepeatedWarnings(context.logger, context.clock);
  }

  /** Renews a hold from now on, or at other times, since its lease was set anew. */
  watch(hold: Hold): void {
    this.lookAt(hold, this.nextLook(hold));
  }

  /** It is time to look at a hold. */
  look(hold: Hold): void {
    this.noteLag(hold);
    // Ends a hold whose lease is over.
    if (!hold.isHeld) return;
    if (this.mayRenew(hold) || this.isInDoubt(hold)) this.enqueue(hold.grant, hold);
    // The watchdog looks again when the lease ends, whatever the result of the renewal.
    this.lookAt(hold, hold.validUntil);
  }

  /** Stops renewing a hold, whatever is under way. */
  remove(hold: Hold): void {
    // After a block of the event loop the loss may be found before the watchdog looks.
    this.noteLag(hold);
    if (hold.grant.isOnly(hold)) this.forget(hold.grant);
    this.context.timers.cancel(hold);
  }

  /** No handle can release this hold any more: it ends with its lease. */
  abandon(hold: Hold, why = `the handle of '${hold.key}' was dropped without release()`): void {
    if (hold.state !== 'held' || hold.isAbandoned) return;
    hold.isAbandoned = true;
    // Still watched to its end: only then the queue asks the store for its next waiter.
    this.watch(hold);
    this.context.logger.warn(`${why}: the lock is not renewed any more and ends with its lease`);
  }

  /** How late the most overdue renewal of the last two minutes was, in ms. */
  get worstLag(): number {
    return this.context.clock.now() - this.worst.at < LAG_KEPT ? this.worst.late : 0;
  }

  /** For how many ms the renewal of a hold has been due; 0 or less: none is due. */
  lagOf(hold: Hold): number {
    return this.mayRenew(hold) ? this.context.clock.now() - hold.renewalDue : 0;
  }

  /** Asks the store about the grants of some holds now. */
  renewNow(holds: Iterable<Hold>): void {
    for (const { grant } of holds) this.enqueue(grant);
  }

  /** ms of lease to ask for in order to verify a hold; 0: only look. */
  leaseToVerify(hold: Hold): number {
    return hold.missingLease || (this.isInDoubt(hold) ? hold.promisedLease : 0);
  }

  /**
   * Takes the store's reply about a grant: `left` ms are left. Returns whether to ask again at once: if the reply was too
   * slow to tell, and for the rest if the store has less than a holder was promised.
   */
  replied(grant: ClientGrant, request: LeaseRequest, left: number): boolean {
    const wasUnclear = grant.lease.isUnclear;
    const verdict = grant.replied(request, left);
    const holds = grant.holds.filter(({ isHeld }) => isHeld);
    if (verdict === 'unclear' && wasUnclear) {
      for (const hold of holds) this.retry(hold);
      return false;
    }
    // Even if the reply is ignored: the reply that has overtaken it may lack the extension.
    for (const hold of holds) this.watch(hold);
    const lacks = (hold: Hold): boolean => !hold.isAbandoned && hold.missingLease > request.lease;
    return holds.length > 0 && (verdict === 'unclear' || (verdict === 'lowered' && holds.some(lacks)));
  }

  /** The store does not know a grant. */
  notHeld(grant: ClientGrant): void {
    const { key, id, epoch, capacity } = grant;
    // After a release the reply says nothing.
    if (!grant.holds.some(({ state }) => state === 'held')) return;
    grant.lose('unknown');
    // So that waiters do not wait for a lease that may still stand somewhere. The last of several holds leaves with its loss.
    if (capacity === 'one') this.releases.leave(key, id, this.releases.tombstoneFor(epoch));
  }

  private lookAt(hold: Hold, at: number): void {
    this.context.timers.move(hold, Math.ceil(at));
  }

  private noteLag(hold: Hold): void {
    const late = this.lagOf(hold);
    if (late > 0 && late >= this.worstLag) this.worst = { late, at: this.context.clock.now() };
  }

  private enqueue(grant: ClientGrant, hold?: Hold): void {
    let turns = this.due.get(grant);
    if (turns === undefined) {
      // A request from before a reconnect may stay unanswered for long, or get the reply of a server that is gone.
      if (this.asked.get(grant)?.epoch === this.context.store.epoch) return;
      this.asked.delete(grant);
      this.due.set(grant, (turns = new Set()));
      if (this.due.size === 1) queueMicrotask(() => this.renewDue());
    }
    if (hold !== undefined) turns.add(hold);
  }

  private renewDue(): void {
    const renewals: Renewal[] = [];
    let taken = 0;
    for (const [grant, turns] of this.due) {
      this.due.delete(grant);
      const renewal = this.renewalOf(grant, turns);
      if (renewal !== undefined) renewals.push(renewal);
      if ((taken += 1) === RENEWALS_PER_TURN) break;
    }
    if (this.due.size > 0) this.context.timers.add(this.context.clock.now(), () => this.renewDue());
    void this.renew(renewals);
  }

  private renewalOf(grant: ClientGrant, turns: ReadonlySet<Hold>): Renewal | undefined {
    const wishes = grant.holds
      .filter(({ state }) => state === 'held')
      .map((hold) => ({ hold, ...this.wishFor(hold, !turns.has(hold)) }));
    if (wishes.length === 0) return undefined;
    const lease = wishes.reduce((longest, wish) => Math.max(longest, wish.lease), 0);
    const request = grant.lease.ask(this.context.clock.now(), this.context.store.epoch, lease);
    this.asked.set(grant, request);
    return { grant, request, counted: wishes.filter(({ counts }) => counts) };
  }

  private async renew(renewals: readonly Renewal[]): Promise<void> {
    if (renewals.length === 0) return;
    // Plain data, since a store may send it on.
    const requests = renewals.map(({ grant: { key, id }, request: { lease } }) => ({ key, id, lease }));
    const replies = await this.context.store.renew(requests);
    for (const [i, renewal] of renewals.entries()) this.renewed(renewal, replies[i]!);
  }

  private renewed({ grant, request, counted }: Renewal, reply: RenewReply): void {
    const isLatest = this.asked.get(grant) === request;
    if (isLatest) this.asked.delete(grant);
    if (reply === 'not-held') return this.notHeld(grant);
    if (typeof reply === 'number') {
      const late = counted.map(({ hold }) => this.lateness(hold));
      const again = this.replied(grant, request, reply);
      for (const [i, { hold, lease }] of counted.entries()) {
        if (hold.isHeld) this.count(hold, { ...request, lease }, late[i]!);
      }
      if (again) this.enqueue(grant);
    } else if (isLatest) {
      const isKnown = withoutNumbers(grant.renewalError?.message ?? '') === withoutNumbers(reply.message);
      grant.renewalError = reply;
      for (const hold of grant.holds) this.retry(hold);
      this.reportFailure(grant.holds[0]!, reply, isKnown);
    }
  }

  /**
   * An error that lasts is a warning, since the lock will be lost; once in a while, as it may concern many holds. `isKnown`: the
   * try before has failed for the same reason.
   */
  private reportFailure({ key, remaining }: Hold, error: Error, isKnown: boolean): void {
    const isLasting = isLockStoreError(error) && !error.transient;
    const lost = `lost in ${Math.round(remaining)} ms unless a further try succeeds`;
    if (isLasting && this.warnings.warn(error.message, `could not renew '${key}', which is ${lost}: ${error.message}`))
      return;
    if (!isKnown) this.context.logger.debug(`could not renew '${key}', will try again: ${error.message}`);
  }

  /** No request about a grant is sent any more. */
  private forget(grant: ClientGrant): void {
    this.asked.delete(grant);
    this.due.delete(grant);
  }

  private retry(hold: Hold): void {
    if (!hold.isHeld) return;
    const now = this.context.clock.now();
    const delay = Math.max(EARLIEST_RETRY, Math.min((hold.validUntil - now) * RETRY_AFTER, LATEST_RETRY));
    const due = this.nextLook(hold, now);
    this.lookAt(hold, Math.min(now + delay, due > now ? due : hold.validUntil));
  }

  /** For how many ms the renewal of a hold has been due; 0 if it is in time. */
  private lateness({ renewalDue, terms: { lease } }: Hold): number {
    const late = this.context.clock.now() - renewalDue;
    return late > lease * TOLERATED ? Math.round(late) : 0;
  }

  private count(hold: Hold, request: LeaseRequest, late: number): void {
    hold.renewed(request);
    this.context.identity.cover(this.context.clock.now(), hold.lastLease);
    this.watch(hold);
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

  /** The store may have another lease than the client relies on: the reply was unclear, or the connection was lost since. */
  private isInDoubt(hold: Hold): boolean {
    const { lease } = hold.grant;
    return lease.isUnclear || lease.isFromBefore(this.context.store.epoch);
  }

  /**
   * A request that asks for no more than the holder was promised does not count as a renewal. The watchdog only looks at a
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
    if (!this.mayRenew(hold) && !hold.grant.lease.isUnclear) return validUntil;
    // A power of two, so that the grids of different times fall together.
    const grid = 2 ** Math.max(0, Math.floor(Math.log2(Math.min(terms.lease, validUntil - renewalDue) * GRID)));
    return Math.min(Math.max(Math.floor(renewalDue / grid) * grid, now), validUntil);
  }
}
