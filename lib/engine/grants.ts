import { RepeatedWarnings } from '../common/repeated-warnings.js';
import { settledBy } from '../common/settle.js';
import { TransientMap } from '../common/transient.js';
import type { LockLostError } from '../errors/index.js';
import type { HeldReply, HoldChoice } from '../store/lock-store.js';
import {
  ClientGrant,
  type GrantContext,
  type GrantUsers,
  type Grant,
  type GrantTarget,
  type Hold,
  type HoldTerms,
  type KeyTerms,
} from './hold.js';
import type { EngineContext } from './engine-context.js';
import type { Capacity } from './hold-terms.js';
import type { IdTable } from './orphans.js';
import type { Releases } from './releases.js';
import type { Watchdog } from './watchdog.js';

/** The report of a forced release waits so many ms for the label of the next holder. Without it, it shows an id. */
const NAME_TIME = 250;

/** What the store has granted this client, by the id of the acquisition, with the holds of its callers. */
export class Grants implements IdTable {
  private readonly byId = new TransientMap<string, ClientGrant>();
  /** How many holds have a holder in this client. */
  size = 0;
  /** Lost holds that shared a grant, whose part the store still keeps. */
  private readonly lostShares = new Set<Hold>();
  private emptied: (() => void) | undefined;
  /** Many readers of one key may be lost at once. */
  private readonly warnings: RepeatedWarnings;
  private readonly grantContext: GrantContext;
  private readonly lost = (hold: Hold, error: LockLostError): void => {
    const { nextId } = hold.grant;
    this.remove(hold);
    if (hold.grant.capacity !== 'one') this.giveBackLater(hold);
    if (nextId === undefined) this.report(hold, error);
    else void this.context.names.learn([nextId], NAME_TIME).then(() => this.report(hold, error));
    hold.grant.users?.ended(hold)?.ask();
  };

  private readonly due = (hold: Hold): void => {
    if (this.lostShares.has(hold)) return this.giveBackNow(hold);
    if (hold.state !== 'offered') return this.watchdog.look(hold);
    this.remove(hold);
    this.context.events.unreleased(hold, 'Redis has not confirmed that it was handed over');
  };

  constructor(
    private readonly context: EngineContext,
    private readonly watchdog: Watchdog,
    private readonly releases: Releases,
  ) {
    const { clock, logger, store, limits, identity } = context;
    this.warnings = new RepeatedWarnings(logger, clock);
    this.grantContext = { clock, logger, store, limits, identity, lost: this.lost, due: this.due };
  }

  /** Registers a grant; `serve` makes the hold of each caller that uses it. */
  add(target: GrantTarget, grant: Grant, capacity?: Capacity, users?: GrantUsers): ClientGrant {
    const added = new ClientGrant(this.grantContext, target, grant, capacity, users);
    this.byId.set(added.id, added);
    return added;
  }

  /** Registers a grant for one caller: the reply to its request, which was sent at `from`. */
  addFor({ key, terms }: KeyTerms, id: string, { token, lease }: HeldReply, from: number, epoch: number): Hold {
    const longest = Math.max(lease, terms.lease);
    const granted = { id, token, lease, longest, batchSize: 1, from, epoch, restsOn: epoch };
    return this.serve(this.add({ key, mode: terms.mode }, granted), terms, from);
  }

  /** Makes the hold of one more caller under a grant, and has it renewed. `from`: of the first caller, see `ClientGrant.add`. */
  serve(grant: ClientGrant, terms: HoldTerms, from?: number): Hold {
    const hold = grant.add(terms, from);
    this.size += 1;
    const { lease, holdAtLeast } = terms;
    this.context.identity.cover(hold.acquiredAt, Math.max(lease, holdAtLeast));
    this.watchdog.watch(hold);
    // The caller begins its work meanwhile.
    if (grant.isTooShortFor(terms)) this.watchdog.renewNow([hold]);
    return hold;
  }

  /** Makes the hold of the next caller in place of a hold that has ended. */
  pass(previous: Hold, terms: HoldTerms): Hold {
    const { grant } = previous;
    this.watchdog.remove(previous);
    grant.remove(previous);
    this.size -= 1;
    return this.serve(grant, terms);
  }

  get(id: string): ClientGrant | undefined {
    return this.byId.get(id);
  }

  has(id: string): boolean {
    return this.byId.has(id);
  }

  /** All holds that have a holder in this client. */
  all(): Hold[] {
    return this.byId.values().flatMap(({ state, holds }) => (state === 'offered' ? [] : holds));
  }

  /**
   * A hold ends here, since its grant is offered to another client. It is not renewed any more. The grant stays until the offer
   * has its reply, or its lease is over in the store: so no reply that names it can make it an orphan.
   */
  offer(hold: Hold): void {
    const { grant } = hold;
    this.watchdog.remove(hold);
    grant.close();
    grant.state = 'offered';
    hold.offer();
    this.context.timers.move(hold, Math.ceil(grant.lease.lastsUntil));
    this.left();
  }

  /** Removes a hold and stops its renewal; the last one removes its grant. */
  remove(hold: Hold): void {
    const { grant } = hold;
    this.watchdog.remove(hold);
    if (!grant.has(hold)) return;
    grant.remove(hold);
    if (grant.isEmpty) this.byId.delete(grant.id);
    if (!hold.wasOffered) this.left();
  }

  /** How often the owner of a hold has its key in this client, in the same mode. */
  countOf({ terms, key, owner, handles }: Hold): number {
    if (terms.owner === undefined) return handles;
    const { kind } = terms.mode;
    const same = this.all().filter(
      (other) => other.key === key && other.owner === owner && other.terms.mode.kind === kind && other.isHeld,
    );
    return same.reduce((count, other) => count + other.handles, 0);
  }

  /**
   * Ends the chosen holds of a key that share a grant with others. Returns how many, and the ids of the grants that the store
   * has to end; `undefined`: all.
   */
  endSome(
    key: string,
    choice: HoldChoice,
    by: string,
  ): { readonly ended: number; readonly inStore: readonly string[] | undefined } {
    if (choice === undefined) return { ended: 0, inStore: undefined };
    const left = new Set(typeof choice === 'string' ? [choice] : choice);
    const inStore: string[] = [];
    let ended = 0;
    for (const grant of this.byId.values()) {
      if (grant.key !== key || grant.capacity === 'one') continue;
      const { holds } = grant;
      const chosen = holds.filter(({ id }) => left.delete(id));
      // The id of the first caller is that of the grant, which others have after it was released.
      left.delete(grant.id);
      const isAll = chosen.length === holds.length;
      if (isAll) inStore.push(grant.id);
      else for (const hold of chosen) hold.lose('forced', undefined, by);
      // The store counts the grant as one.
      ended += isAll ? chosen.length - 1 : chosen.length;
    }
    return { ended, inStore: [...inStore, ...left] };
  }

  private report(hold: Hold, error: LockLostError): void {
    const { nextId } = hold.grant;
    const next = nextId === undefined ? undefined : this.context.names.labelOf(nextId);
    const then = next === undefined ? '' : `; the next holder is ${next}`;
    this.warnings.warn(error.message, `${error.message}${then}`);
    this.context.events.lost(hold, error, next);
  }

  /** Resolves when nothing is held, or after `timeout` ms. */
  async empty(timeout: number): Promise<void> {
    // Without a timer if there is no wait: the fake timers of a test never fire.
    if (this.size === 0 || timeout === 0) return;
    const { timers, clock } = this.context;
    const release = clock.keepAlive();
    const emptied = new Promise<void>((resolve) => (this.emptied = resolve));
    await settledBy(timers, { at: clock.now() + timeout }, emptied);
    release();
  }

  /** The holder of a lost hold does not work any more: the store need not keep its part until its lease ends there. */
  giveBack(hold: Hold): void {
    if (this.lostShares.has(hold)) this.giveBackNow(hold);
  }

  /** Like `giveBack`, for all holds that were lost and not released. */
  giveBackAll(): void {
    for (const hold of this.lostShares) this.giveBackNow(hold);
  }

  /**
   * A hold is lost whose grant others share: the store keeps it for the longest lease, and with all its permits. The holder may
   * still work. So the store keeps its part until it has released, or until its lease would have ended there.
   */
  private giveBackLater(hold: Hold): void {
    const { clock, timers } = this.context;
    const now = clock.now();
    if (hold.releasing !== undefined || hold.validUntil > now) return this.giveBackNow(hold);
    this.lostShares.add(hold);
    timers.move(hold, now + hold.promisedLease);
  }

  private giveBackNow(hold: Hold): void {
    const { grant } = hold;
    const { key, id, epoch, lease } = grant;
    this.lostShares.delete(hold);
    this.context.timers.cancel(hold);
    if (grant.isEmpty) this.releases.leave(key, id, this.releases.tombstoneFor(epoch), lease.lastsUntil);
    else if (hold.units > 0 && grant.isHeld) this.releases.sendUnits(grant).catch(() => undefined);
  }

  private left(): void {
    this.size -= 1;
    if (this.size === 0) this.emptied?.();
  }
}
