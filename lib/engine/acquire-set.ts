import { namesOfKeys } from '../common/describe.js';
import { settledBy } from '../common/settle.js';
import { isLockStoreError, LockStoreError, LockTimeoutError, type LockError } from '../errors/index.js';
import type { AcquireAllReply, HeldReply } from '../store/lock-store.js';
import { notGranted, type AcquireParts, type KeyQueues } from './key-queue.js';
import type { Admission } from './admission.js';
import type { Hold } from './hold.js';
import { acquireRequest, type HoldTerms, type KeyTerms } from './hold-terms.js';
import type { HoldReleases } from './hold-releases.js';
import type { LeaseOperations } from './lease-operations.js';
import { validUntil } from './lease-view.js';
import { awaitReplies, nextReplyDue, replyDue, type WaitTerms } from './waiter.js';

/** How a set waits: all its requests have one limit. */
type SetWait = WaitTerms & { readonly replyBy: number };

/** One of the keys is not free. */
type Busy = Exclude<AcquireAllReply, readonly HeldReply[]>;

/** Why a set was not acquired in one step. `undefined`: only a request for each key can tell whether it is free. */
type Refusal = Busy | LockError | undefined;

/**
 * Acquires several keys, all or none: in one step if all are free, otherwise one by one, each in its queue. One by one means
 * in the order of the keys, so two callers never wait for each other (Havender's ordering).
 */
export class AcquireSet {
  constructor(
    private readonly parts: AcquireParts,
    private readonly admission: Admission,
    private readonly queues: KeyQueues,
    private readonly leases: LeaseOperations,
    private readonly releases: HoldReleases,
  ) {}

  /**
   * Waits for the holds, in the order of `set`.
   * @throws as `KeyQueues.acquire` does; then nothing is kept
   */
  async acquire(set: readonly KeyTerms[], wait: WaitTerms): Promise<Hold[]> {
    const { parts, admission, releases, leases } = this;
    const refusal = admission.refusal(set[0]!.key, wait);
    if (refusal !== undefined) throw refusal;
    for (const { key } of set) releases.send(key);
    const { clock, store, limits } = parts.context;
    const since = clock.now();
    // One limit for the whole set, however many requests it takes.
    const replyBy = replyDue(since, wait.waitTimeout, limits.commandTimeout, store.replyTime);
    const limit = { ...wait, replyBy };
    const atOnce = admission.unreachable(set[0]!.key) ?? (await this.atOnce(set, limit));
    const holds = isGranted(atOnce) ? atOnce : await this.inOrder(set, limit, since, atOnce);
    // Only now, so that the replicas confirm all keys at the same time.
    if (set.some(({ terms }) => terms.replicas)) await leases.confirm(holds, since, wait);
    return holds;
  }

  /** @param refusal of the attempt to acquire them in one step */
  private async inOrder(
    set: readonly KeyTerms[],
    { waitTimeout, replyBy, signal }: SetWait,
    since: number,
    refusal: Refusal,
  ): Promise<Hold[]> {
    const { parts, admission, queues, releases } = this;
    const { clock, timers, store, limits } = parts.context;
    const deadline = since + waitTimeout;
    const isOneTry = waitTimeout === 0;
    if (isOneTry && refusal !== undefined) await this.awaitOwnRelease(refusal, set, since, { replyBy, signal });
    const nextBy = (): number =>
      nextReplyDue({ since, now: clock.now(), replyBy }, waitTimeout, limits.commandTimeout, store.replyTime);
    const held = new Map<string, Hold>();
    let waitedFor = set[0]!;
    let owner: string | undefined;
    try {
      for (const wanted of [...set].sort(byKey)) {
        waitedFor = wanted;
        const { key, terms } = wanted;
        const left = deadline - clock.now();
        // Once a key is held, the next one may be free, so it gets one try, and so does the first if the store has not said yet.
        if (left < 0 && !isOneTry && held.size === 0 && refusal !== undefined) {
          throw refusal instanceof Error ? refusal : this.timedOut(set, wanted, since, waitTimeout);
        }
        // Renewed while the caller waits for the other keys, and released if it does not get them.
        const meanwhile = {
          ...ownedBy(owner, terms),
          renews: true,
          maxRenewTimes: 0,
          holdAtLeast: 0,
          // A hold that is shared has no `holdAtLeast`, and no owner of its own.
          alone: true,
          ahead: held.size > 0,
        };
        const hold = await queues.acquire(key, meanwhile, {
          waitTimeout: Math.max(0, left),
          replyBy: held.size === 0 ? replyBy : nextBy(),
          signal,
        });
        held.set(key, hold);
        // The first key is acquired without an owner, so that it shares the ticket of this client. Its owner holds the other
        // keys, too, so the next local waiter must not get that owner with the lock.
        owner ??= hold.exposeOwner();
      }
      const begun = Promise.all(set.map(({ key, terms }) => this.begin(held.get(key)!, terms)));
      if (!(await settledBy(timers, { at: nextBy(), isReply: true }, begun))) throw unanswered(set);
      await begun;
      // The last reply may have come late for the other keys.
      for (const hold of held.values()) hold.assertHeld();
      for (const { key, terms } of set) if (terms.holdAtLeast > 0) held.get(key)!.keepFor(terms.holdAtLeast);
    } catch (error) {
      const released = Promise.allSettled([...held.values()].map(async (hold) => releases.release(hold)));
      // If the store is unreachable, waiting for the releases would take as long again.
      if (!isLockStoreError(error) || !error.transient) await awaitReplies(parts.context, released, replyBy);
      // The time was over before the store could reply once more. Its last reply was that not all keys were free.
      else if (isBusy(refusal) && (store.outage ?? admission.closing) === undefined && clock.now() >= deadline)
        throw this.timedOut(set, waitedFor, since, waitTimeout);
      throw error;
    }
    return set.map(({ key }) => held.get(key)!);
  }

  /**
   * One of the keys was busy for one try. Waits if a release of this client that the store had not executed yet is the cause.
   * @throws LockTimeoutError otherwise; `refusal` if it is an error
   */
  private async awaitOwnRelease(
    refusal: Busy | LockError,
    set: readonly KeyTerms[],
    since: number,
    { replyBy, signal }: Pick<SetWait, 'replyBy' | 'signal'>,
  ): Promise<void> {
    if (refusal instanceof Error) throw refusal;
    const { context, orphans, grants } = this.parts;
    const { key, holders } = refusal;
    const released = orphans.releaseHolders(key, holders);
    if (released !== undefined) {
      const signals = [this.admission.signal, signal];
      await settledBy(context.timers, { at: replyBy, isReply: true, signals }, released);
      return;
    }
    const request = { ...set.find((each) => each.key === key)!, since };
    context.events.contended(request, holders);
    context.events.timeout(request, holders);
    throw notGranted(key, { isLocal: holders.some((id) => grants.has(id)) });
  }

  /**
   * Acquires all keys in one step, or none, without a place in a queue.
   * @throws LockStoreError without a reply in time or at shutdown; the reason of the caller's signal
   */
  private async atOnce(set: readonly KeyTerms[], { signal, replyBy }: SetWait): Promise<Hold[] | Refusal> {
    const { admission } = this;
    const { context, tickets, grants, releases } = this.parts;
    const { store, clock, timers, limits, events } = context;
    const ids = set.map(({ terms }) => context.identity.nextId(terms));
    const owned = set.map(({ key, terms }, i) => ({ key, terms: i === 0 ? terms : ownedBy(ids[0], terms) }));
    const requests = owned.map(({ key, terms }, i) => acquireRequest(context, key, ids[i]!, terms));
    const leaveAll = (tombstone: number): void => {
      for (const { key, id, lease } of requests) releases.leave(key, id, tombstone, clock.now() + lease);
    };
    const sent = clock.now();
    const { epoch } = store;
    for (const id of ids) tickets.setIds.add(id);
    try {
      const asked = store.acquireAll(requests).catch((error: LockError) => error);
      if (!(await settledBy(timers, { at: replyBy, isReply: true, signals: [admission.signal, signal] }, asked))) {
        leaveAll(2 * limits.commandTimeout);
        void asked.then((reply) => isGranted(reply) && leaveAll(0));
        signal?.throwIfAborted();
        throw admission.closing ?? unanswered(set);
      }
      const reply = await asked;
      if (reply instanceof Error) leaveAll(2 * limits.commandTimeout);
      if (!isGranted(reply)) return reply;
      if (reply.some(({ lease }) => validUntil(sent, lease) <= clock.now())) {
        leaveAll(0);
        return tooLate(set);
      }
      return owned.map((wanted, i) => {
        const hold = grants.addFor(wanted, ids[i]!, reply[i]!, sent, epoch);
        events.acquired(hold, sent, false);
        return hold;
      });
    } finally {
      for (const id of ids) tickets.setIds.delete(id);
    }
  }

  private timedOut(
    set: readonly KeyTerms[],
    waitedFor: KeyTerms,
    since: number,
    waitTimeout: number,
  ): LockTimeoutError {
    this.parts.context.events.timeout({ ...waitedFor, since });
    if (waitTimeout === 0) return notGranted(waitedFor.key, {});
    const message = `${named(set)} were not all free within the waitTimeout of ${Math.round(waitTimeout)} ms`;
    return new LockTimeoutError(message, { key: waitedFor.key });
  }

  /** The last key has been acquired, so a lease that is fixed or counted begins now. */
  private async begin(hold: Hold, terms: HoldTerms): Promise<void> {
    hold.restart(terms);
    hold.assertHeld();
    if (!terms.renews || terms.maxRenewTimes > 0) await this.leases.extend(hold, terms.lease);
  }
}

/** A caller that names no owner still holds all keys of a set under one owner: that of its first hold. */
const ownedBy = (owner: string | undefined, terms: HoldTerms): HoldTerms => ({
  ...terms,
  owner: terms.owner ?? owner,
});

/** The keys of a set, for messages. */
const named = (set: readonly KeyTerms[]): string => namesOfKeys(set.map(({ key }) => key));

/** The store has not replied in time for a set. */
const unanswered = (set: readonly KeyTerms[]): LockStoreError =>
  new LockStoreError(`Redis has not answered yet whether ${named(set)} are free`, {
    key: set[0]!.key,
    transient: true,
  });

/** The store has replied for a set, but only after a lease. */
const tooLate = (set: readonly KeyTerms[]): LockStoreError =>
  new LockStoreError(`Redis answered after the lease of ${named(set)} had ended`, {
    key: set[0]!.key,
    transient: true,
  });

const isGranted = <Granted extends readonly unknown[]>(reply: Granted | Refusal): reply is Granted =>
  Array.isArray(reply);

const isBusy = (refusal: Refusal): boolean => refusal !== undefined && !(refusal instanceof Error);

const byKey = (a: KeyTerms, b: KeyTerms): number => (a.key < b.key ? -1 : 1);
