import { settledBy } from '../common/settle.js';
import type { TimerEntry } from '../common/timer-queue.js';
import { TransientMap } from '../common/transient.js';
import type { LockLostError } from '../errors/index.js';
import type { EngineContext } from './engine-context.js';
import { Hold, type Grant, type HoldTerms } from './hold.js';
import { withUnits } from './hold-terms.js';
import type { IdTable } from './orphans.js';
import type { Releases } from './releases.js';
import { SharedHold } from './shared-hold.js';
import { SharedHolds } from './shared-holds.js';
import type { UnitReleases } from './unit-releases.js';
import type { Watchdog } from './watchdog.js';

interface Entry<Queue> {
  readonly hold: Hold;
  readonly queue: Queue | undefined;
  /** Whether the hold is being offered to another client, so that its holder has ended. */
  readonly isOffered: boolean;
}

/**
 * The holds of a client, by the id of their acquisition, each with the queue that it came from. The watchdog renews a hold
 * for as long as it is registered.
 */
export class HoldRegistry<Queue> implements IdTable {
  /** The holds in the store that several holds here share. */
  readonly shared = new SharedHolds();
  private readonly holds = new TransientMap<string, Entry<Queue>>();
  private offered = 0;
  /** Lost holds that shared one in the store, which may still keep their part. */
  private readonly lostShares = new Map<Hold, TimerEntry>();
  private emptied: (() => void) | undefined;
  private readonly lost = (hold: Hold, error: LockLostError): void => {
    this.remove(hold);
    if (hold.shared !== undefined) this.giveBackLater(hold);
    this.context.logger.warn(error.message);
    this.context.events.lost(hold, error);
  };

  constructor(
    private readonly context: EngineContext,
    private readonly watchdog: Watchdog,
    private readonly releases: Releases,
    private readonly units: UnitReleases,
  ) {}

  /** Registers the hold of a grant. */
  add(terms: HoldTerms, grant: Grant, queue: Queue | undefined): Hold {
    const { units } = grant;
    return this.register(new Hold(units === undefined ? terms : withUnits(terms, units), grant, this.context), queue);
  }

  /** Begins a hold in the store that several holds here share; `share` registers each of them. */
  addShared(terms: HoldTerms, grant: Grant): SharedHold {
    const shared = new SharedHold(this.context, terms, grant);
    this.shared.add(shared);
    return shared;
  }

  /** Registers the hold of a caller that shares a hold in the store. */
  share(shared: SharedHold, terms: HoldTerms, queue?: Queue): Hold {
    const hold = this.register(shared.add(terms), queue);
    // The caller begins its work meanwhile.
    if (hold.id !== shared.id && shared.isTooShortFor(terms)) this.watchdog.renewNow([hold]);
    return hold;
  }

  /** Registers the hold of the next local waiter in place of a hold that has ended, under the same grant. */
  replace(previous: Hold, terms: HoldTerms, queue: Queue): Hold {
    this.watchdog.remove(previous);
    const hold = this.register(previous.passTo(terms), queue);
    // A lease that is not renewed is to last in full. The caller begins its work meanwhile.
    if (!terms.renews) this.watchdog.renewNow([hold]);
    return hold;
  }

  get(id: string): Hold | undefined {
    return this.holds.get(id)?.hold;
  }

  has(id: string): boolean {
    return this.holds.has(id) || this.shared.has(id);
  }

  /** The queue that the hold of an acquisition came from. */
  queueOf(id: string): Queue | undefined {
    return this.holds.get(id)?.queue;
  }

  /** All holds that have a holder in this client. */
  all(): Hold[] {
    const entries = this.holds.values();
    return (this.offered === 0 ? entries : entries.filter(({ isOffered }) => !isOffered)).map(({ hold }) => hold);
  }

  /** How many holds have a holder in this client. */
  get size(): number {
    return this.holds.size - this.offered;
  }

  /**
   * A hold ends here, since it is offered to another client. It is not renewed any more. Until it is removed, or its lease is
   * over in the store, a reply that names it names no orphan.
   */
  offer(hold: Hold): void {
    const { queue } = this.holds.get(hold.id)!;
    this.watchdog.remove(hold);
    hold.offer();
    this.holds.set(hold.id, { hold, queue, isOffered: true });
    this.offered += 1;
    hold.watch = this.context.timers.add(hold.lastsUntil, () => this.remove(hold));
    this.notifyIfEmpty();
  }

  /** Removes a hold and stops its renewal. */
  remove(hold: Hold): void {
    this.watchdog.remove(hold);
    if (this.holds.get(hold.id)?.isOffered === true) this.offered -= 1;
    this.holds.delete(hold.id);
    const { shared } = hold;
    shared?.remove(hold);
    if (shared?.isEmpty === true) this.shared.remove(shared.id);
    this.notifyIfEmpty();
  }

  /** How often the owner of a hold has its key in this client, in the same mode. */
  countOf({ terms, key, owner, handles }: Hold): number {
    if (terms.owner === undefined) return handles.count;
    const { kind } = terms.mode;
    const same = this.all().filter(
      (other) => other.key === key && other.owner === owner && other.terms.mode.kind === kind && other.isHeld,
    );
    return same.reduce((count, other) => count + other.handles.count, 0);
  }

  /** Resolves when nothing is held, or after `timeout` ms. */
  async empty(timeout: number): Promise<void> {
    if (this.size === 0) return;
    const { timers, clock } = this.context;
    const release = clock.keepAlive();
    const emptied = new Promise<void>((resolve) => (this.emptied = resolve));
    await settledBy(timers, { at: clock.now() + timeout }, emptied);
    release();
  }

  private notifyIfEmpty(): void {
    if (this.size === 0) this.emptied?.();
  }

  private register(hold: Hold, queue: Queue | undefined): Hold {
    this.holds.set(hold.id, { hold, queue, isOffered: false });
    hold.observeLoss(this.lost);
    const { lease, holdAtLeast } = hold.terms;
    this.context.identity.cover(hold.acquiredAt, Math.max(lease, holdAtLeast));
    this.watchdog.add(hold);
    return hold;
  }

  /** The holder of a lost hold does not work any more: the store need not keep its part until its lease ends there. */
  giveBack(hold: Hold): void {
    const later = this.lostShares.get(hold);
    if (later === undefined) return;
    this.context.timers.cancel(later);
    this.giveBackNow(hold);
  }

  /** Like `giveBack`, for all holds that were lost and not released. */
  giveBackAll(): void {
    for (const hold of this.lostShares.keys()) this.giveBack(hold);
  }

  /**
   * A hold is lost that shares one in the store, which keeps the shared hold for the longest lease, and with all its permits.
   * The holder may still work. So the store keeps its part until it has released, or until its lease would have ended there.
   */
  private giveBackLater(hold: Hold): void {
    const { clock, timers } = this.context;
    const { validUntil, promisedLease } = hold;
    const now = clock.now();
    if (hold.releasing !== undefined || validUntil > now) this.giveBackNow(hold);
    else
      this.lostShares.set(
        hold,
        timers.add(now + promisedLease, () => this.giveBackNow(hold)),
      );
  }

  private giveBackNow(hold: Hold): void {
    const { key, storeId, epoch } = hold;
    this.lostShares.delete(hold);
    const shared = this.shared.get(storeId);
    if (shared === undefined)
      this.releases.leave(key, storeId, this.releases.tombstoneFor(epoch), hold.shared?.lastsUntil);
    else if (hold.units > 0 && shared.isHeld) this.units.sendInBackground(shared);
  }
}
