import { listed } from '../common/describe.js';
import { LockConfigError } from '../errors/index.js';
import type {
  ListReply,
  ListRequest,
  HoldSurvey,
  HoldSurveyRequest,
  ForceReleaseReply,
  LockStore,
  StoredLock,
  StoreFeature,
  HoldChoice,
} from '../store/lock-store.js';
import { AcquireSet } from './acquire-set.js';
import { Admission } from './admission.js';
import { DroppedHandles } from './dropped-handles.js';
import type { EngineContext } from './engine-context.js';
import type { Hold, HoldTerms, KeyTerms } from './hold.js';
import { Handovers, type Offer } from './handovers.js';
import { Grants } from './grants.js';
import { HoldReleases } from './hold-releases.js';
import { Latches } from './latches.js';
import { LeaseOperations } from './lease-operations.js';
import { Orphans } from './orphans.js';
import { permitsFixed } from './refusals.js';
import { KeyQueues, type AcquireParts } from './key-queue.js';
import { Releases } from './releases.js';
import { StoreMessages } from './store-messages.js';
import { Tickets } from './ticket.js';
import type { WaitTerms } from './waiter.js';
import { Watchdog } from './watchdog.js';

export { NO_TOKEN } from '../store/lock-store.js';
export type { HoldSurvey, ListReply, ListRequest, Offer, StoredLock, StoreFeature, HoldSurveyRequest };

/** At most so many ms are spent at shutdown on waiting for the last replies. */
const LAST_REPLIES = 1_000;

/** The shutdown names at most so many holds that it waits for. */
const MOST_REPORTED = 20;

/** The engine: makes its parts, acquires, and closes. What concerns a hold is asked of the part that does it. */
export class LockEngine {
  readonly clientId: string;
  /** What the store cannot do, and what to do instead. */
  readonly lacks: LockStore['lacks'];
  /** `undefined`: the store keeps no latches. */
  readonly latches: Latches | undefined;

  private readonly admission: Admission;
  /** Renews holds; stops renewing a hold that no handle will release. */
  readonly watchdog: Watchdog;
  /** Handles that may be garbage-collected without a release. */
  readonly dropped: DroppedHandles;
  /** The holds of this client. */
  readonly grants: Grants;
  private readonly tickets: Tickets;
  /** The callers of this client that wait. */
  readonly queues: KeyQueues;
  /** Asks the store about a hold: `verify`, `extend`. */
  readonly leases: LeaseOperations;
  /** Releases holds. */
  readonly releases: HoldReleases;
  private readonly storeReleases: Releases;
  /** Holds that pass from one client to another. */
  readonly handovers: Handovers;
  private readonly set: AcquireSet;
  /** Settles when the waiters have been rejected. */
  private dismissed: Promise<unknown> = Promise.resolve();

  constructor(private readonly context: EngineContext) {
    const { store } = context;
    this.clientId = store.clientId;
    this.lacks = store.lacks;
    this.admission = new Admission(context);
    this.storeReleases = new Releases(context);
    this.watchdog = new Watchdog(context, this.storeReleases);
    this.dropped = new DroppedHandles(this.watchdog);
    this.grants = new Grants(context, this.watchdog, this.storeReleases);
    this.tickets = new Tickets(context.clock, store, context.limits.front);
    const { storeReleases: releases, grants, tickets, admission } = this;
    this.handovers = new Handovers(context, admission, grants, releases);
    const heldElsewhere = (key: string): void => this.queues.keys.get(key)?.held?.close();
    const orphans = new Orphans(context, releases, heldElsewhere, [grants, tickets, this.handovers]);
    const parts: AcquireParts = { context, releases, orphans, grants, tickets };
    this.releases = new HoldReleases(context, grants, releases);
    this.queues = new KeyQueues(parts, admission, this.releases);
    this.leases = new LeaseOperations(context, this.watchdog, this.releases);
    this.set = new AcquireSet(parts, admission, this.queues, this.leases, this.releases);
    this.latches = store.latches && new Latches(context, store.latches, admission);
    store.listen(new StoreMessages(parts, this.watchdog, this.latches));
  }

  /**
   * Waits for a hold.
   * @throws LockTimeoutError, LockStoreError, or the reason of the caller's signal
   */
  acquire(key: string, terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    if (terms.replicas === undefined) return this.queues.acquire(key, terms, wait);
    const since = this.context.clock.now();
    return this.queues.acquire(key, terms, wait).then(async (hold) => {
      await this.leases.confirm([hold], since, wait);
      return hold;
    });
  }

  /**
   * Acquires several keys, all or none; the holds are in the order of `set`.
   * @throws as `acquire` does; then nothing is kept
   */
  acquireAll(set: readonly KeyTerms[], wait: WaitTerms): Promise<Hold[]> {
    return this.set.acquire(set, wait);
  }

  /**
   * Ends all holds of a key, or only the one with the id `hold`. Of holds that share one in the store, only this client knows
   * the ids that `inspect` shows here.
   */
  async forceRelease(key: string, hold?: HoldChoice, by = this.context.identity.label): Promise<ForceReleaseReply> {
    return this.command(key, async (store) => {
      this.queues.keys.get(key)?.closeGrants();
      const { ended, inStore } = this.grants.endSome(key, hold, by);
      if (inStore?.length === 0) return { holds: ended, told: ended };
      const reply = await store.forceRelease(key, inStore, by);
      return { holds: reply.holds + ended, told: reply.told + ended };
    });
  }

  /** Adds to the number of permits; resolves to how many there are now. `permits`: how many if none was set at run time. */
  async addToLimit(key: string, change: number, permits: number): Promise<number> {
    return this.command(key, ({ permits: store }) => {
      if (store === undefined) throw permitsFixed(this.lacks);
      this.queues.keys.get(key)?.closeShared();
      return store.add({ key, id: this.context.identity.nextId(), change, permits });
    });
  }

  /** @throws LockConfigError if the store does not know requests for all free permits */
  assertDrains(): void {
    if (this.context.store.permits === undefined) throw permitsFixed(this.lacks);
  }

  async setLimit(key: string, permits: number): Promise<void> {
    return this.command(key, async (store) => {
      if (store.setLimit === undefined) throw permitsFixed(this.lacks);
      this.queues.keys.get(key)?.closeShared();
      await store.setLimit(key, permits);
    });
  }

  /**
   * What the store knows of a key. Of local holders under one grant it knows the first, and this client the current one. Of
   * holds that share one, it knows that one, and this client each of them.
   */
  async inspect(key: string, maxWaiters?: number, maxHolds?: number): Promise<StoredLock> {
    const stored = await this.command(key, (store) => store.inspect(key, maxWaiters, maxHolds));
    return { ...stored, holds: stored.holds.flatMap((hold) => this.grants.get(hold.id)?.describe(hold) ?? [hold]) };
  }

  /** Tells what is asked about the holds of a key, if possible without reading all of them. */
  async survey(request: HoldSurveyRequest): Promise<HoldSurvey> {
    const { key } = request;
    return this.command(
      key,
      async (store) => (await store.survey?.(request)) ?? surveyOf(await store.inspect(key, 1), request),
    );
  }

  /** @throws LockStoreError; LockConfigError if the store cannot list */
  async list(request: ListRequest): Promise<ListReply> {
    const { store } = this.context;
    if (store.list === undefined) {
      throw new LockConfigError(
        store.lacks?.list ?? 'this store cannot list its locks: give it a method `list`, which returns the keys.',
      );
    }
    this.releases.sendAll();
    return this.admission.command(undefined, () => store.list!(request));
  }

  /** Whether messages are received: without them no waiter is woken. */
  get isSubscribed(): boolean {
    const { store } = this.context;
    return store.fullySubscribed ?? store.listening;
  }

  /** Whether new acquisitions are refused, since the application shuts down. */
  get isClosing(): boolean {
    return this.admission.closing !== undefined;
  }

  start(): Promise<void> {
    return this.context.store.start();
  }

  /** Refuses new acquisitions and rejects all waiters. */
  stopWaiting(why?: string): void {
    const closing = this.admission.close(why);
    this.dismissed = Promise.all([this.dismissed, this.queues.dismissAll(closing)]);
    this.latches?.dismissAll(closing);
    this.handovers.dismissAll();
  }

  /** Waits at most `timeout` ms until all holds are released, releases the rest, and disconnects. */
  async close(timeout: number): Promise<void> {
    const { store, timers, limits } = this.context;
    this.stopWaiting();
    const deadline = this.context.clock.now() + timeout;
    if (timeout > 0) this.reportHolds(timeout);
    await this.dismissed;
    await this.grants.empty(timeout);
    await this.releases.settled(deadline);
    await this.releases.endAll();
    const last = Math.min(limits.commandTimeout, LAST_REPLIES);
    await Promise.all([this.storeReleases.settled(last), this.admission.settled(last)]);
    timers.close();
    this.admission.disconnected = true;
    await store.close();
  }

  /** Sends a command about a key, behind a release of it that has not been sent. */
  private command<T>(key: string, send: (store: LockStore) => Promise<T>): Promise<T> {
    return this.admission.command(key, () => {
      this.releases.send(key);
      return send(this.context.store);
    });
  }

  /** Logs what the shutdown waits for, key by key. */
  private reportHolds(timeout: number): void {
    const { clock, logger } = this.context;
    const holds = this.grants.all();
    for (const { key, acquiredAt } of holds.slice(0, MOST_REPORTED)) {
      const held = Math.round(clock.now() - acquiredAt);
      logger.log(`the shutdown waits up to ${timeout} ms for the holder of '${key}', which has had it for ${held} ms`);
    }
    const more = holds.length - MOST_REPORTED;
    if (more > 0) logger.log(`the shutdown waits for the holders of ${more} more keys`);
  }

  /** Logs which locks are held while the application waits for its open requests, since so many ms. */
  reportDrain(since: number): void {
    const keys = this.grants.all().map(({ key }) => `'${key}'`);
    if (keys.length === 0) return;
    this.context.logger.warn(
      `the application has waited for its open requests for ${Math.round(since / 1_000)} s, and renews the locks that it ` +
        `holds: ${listed(keys, MOST_REPORTED)}. Nest waits for requests without limit: end them, set ` +
        'drainTimeout, or stop the process, and the locks end with their leases',
    );
  }

  /** What a log shows of it, and of everything that refers to it. */
  toJSON(): { client: string; held: number } {
    return { client: this.clientId, held: this.grants.size };
  }

  [Symbol.for('nodejs.util.inspect.custom')](): object {
    return this.toJSON();
  }
}

/** Tells it from all holds of a key. */
function surveyOf({ holds, limit }: StoredLock, { kind, owner }: HoldSurveyRequest): HoldSurvey {
  let [ttl, units, isOwned, hasOthers] = [-2, 0, false, false];
  for (const hold of holds) {
    if (hold.mode.kind === 'permits') units += hold.mode.units;
    if (hold.mode.kind === kind) {
      ttl = Math.max(ttl, hold.ttl);
      isOwned ||= owner !== undefined && hold.owner === owner && !hold.kept;
    } else hasOthers = true;
  }
  return { ttl, units, isOwned, hasOthers, limit };
}
