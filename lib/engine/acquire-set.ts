import { listenToAbort } from '../common/abort.js';
import { namesOfKeys } from '../common/describe.js';
import { settledBy } from '../common/settle.js';
import { isLockStoreError, LockStoreError, LockTimeoutError, type LockError } from '../errors/index.js';
import type { AcquireReply, AcquireRequest, HeldReply } from '../store/lock-store.js';
import { notGranted, type AcquireParts, type KeyQueues } from './key-queue.js';
import type { Admission } from './admission.js';
import type { Hold } from './hold.js';
import { acquireRequest, type HoldTerms, type KeyTerms } from './hold-terms.js';
import type { HoldReleases } from './hold-releases.js';
import type { LeaseOperations } from './lease-operations.js';
import { validUntil } from './lease-view.js';
import { refusedForever } from './refusals.js';
import { replyDue, awaitReplies, nextReplyDue, PendingCall, type WaitTerms } from './waiter.js';

/** How a set waits: all its requests have one limit. */
type SetWait = WaitTerms & { readonly replyBy: number };

/** One of the keys is not free. */
interface Busy {
  readonly outcome: 'busy';
  readonly key: string;
  readonly holders: readonly string[];
  readonly isSplit?: boolean | undefined;
}

/** Why a set was not acquired. `undefined`: only a request for each key can tell whether it is free. */
type Refusal = Busy | LockError | undefined;

/** How a set is asked for: with one request for all keys, or with a request for each key at the same time. */
type How = 'together' | 'each';

/**
 * Acquires several keys, all or none: in one step if all are free, otherwise one by one, each in its queue. One by one means
 * in the order of the keys, so two callers never wait for each other (Havender's ordering). One try asks for all keys at
 * once in any case.
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
    const atOnce = admission.unreachable(set[0]!.key) ?? (await this.atOnce(set, limit, 'together'));
    const holds = Array.isArray(atOnce)
      ? atOnce
      : wait.waitTimeout === 0
        ? await this.tryEach(set, limit, since, atOnce)
        : await this.inOrder(set, limit, since, atOnce);
    // Only now, so that the replicas confirm all keys at the same time.
    if (set.some(({ terms }) => terms.replicas)) await leases.confirm(holds, since, wait);
    return holds;
  }

  /**
   * Asks for each key at the same time, unless one of them is known to be held.
   * @param refusal of the attempt to acquire them in one step
   */
  private async tryEach(set: readonly KeyTerms[], limit: SetWait, since: number, refusal: Refusal): Promise<Hold[]> {
    const { parts } = this;
    let found = refusal;
    const busy = busyOf(refusal);
    // What keeps this try from the key may be a release of this client that the store had not executed yet.
    const released = busy && parts.orphans.releaseHolders(busy.key, busy.holders);
    if (released !== undefined) {
      await settledBy(parts.context.timers, { at: limit.replyBy, isReply: true }, released);
    }
    if (released !== undefined || found === undefined) {
      const each = await this.atOnce(set, limit, 'each', busy);
      if (Array.isArray(each)) return each;
      found = each;
    }
    if (found === undefined || found instanceof Error) throw found ?? unanswered(set);
    const { key, holders, isSplit } = found;
    const { terms } = set.find((each) => each.key === key)!;
    parts.context.events.contended({ key, terms, since }, holders);
    parts.context.events.timeout({ key, terms, since }, holders);
    throw notGranted(key, { isSplit, isLocal: holders.some((id) => parts.grants.has(id)) });
  }

  /** @param refusal of the attempt to acquire them in one step */
  private async inOrder(
    set: readonly KeyTerms[],
    { waitTimeout, replyBy, signal }: SetWait,
    since: number,
    refusal: Refusal,
  ): Promise<Hold[]> {
    const { parts, queues, releases } = this;
    const { clock, timers, store } = parts.context;
    const deadline = since + waitTimeout;
    // Independent masters are asked for one key after another.
    const nextBy = (): number => nextReplyDue({ since, now: clock.now(), replyBy }, waitTimeout, store.replyTime);
    const held = new Map<string, Hold>();
    let waitedFor = set[0]!;
    let owner: string | undefined;
    try {
      for (const wanted of [...set].sort(byKey)) {
        waitedFor = wanted;
        const { key, terms } = wanted;
        const left = deadline - clock.now();
        // Once a key is held, the next one may be free, so it gets one try, and so does the first if the store has not said yet.
        if (left < 0 && held.size === 0 && refusal !== undefined) {
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
      const released = Promise.allSettled([...held.values()].map((hold) => releases.release(hold)));
      // If the store is unreachable, waiting for the releases would take as long again.
      if (!isLockStoreError(error) || !error.transient) await awaitReplies(parts.context, released, replyBy);
      // The time was over before the store could reply once more. Its last reply was that not all keys were free.
      else if (busyOf(refusal) !== undefined && store.outage === undefined && clock.now() >= deadline)
        throw this.timedOut(set, waitedFor, since, waitTimeout);
      throw error;
    }
    return set.map(({ key }) => held.get(key)!);
  }

  /**
   * Acquires all keys at once, or none, without a place in a queue.
   * @param known what an earlier request has found, which is the result if there is no reply in time
   * @throws LockStoreError without a reply in time or at shutdown; the reason of the caller's signal
   */
  private atOnce(set: readonly KeyTerms[], wait: SetWait, how: How, known?: Busy): Promise<Hold[] | Refusal> {
    const { admission } = this;
    const { signal, replyBy } = wait;
    // The caller may have given up, and the engine may have closed, since the request before this one.
    const refusal = admission.refusal(set[0]!.key, wait);
    if (refusal !== undefined) return Promise.reject(refusal);
    const { context, tickets, grants, releases } = this.parts;
    const { store, clock, limits, events } = context;
    const ids = set.map(({ terms }) => context.identity.nextId(terms));
    const owned = set.map(({ key, terms }, i) => ({ key, terms: i === 0 ? terms : ownedBy(ids[0], terms) }));
    const sent = clock.now();
    const { epoch } = store;
    const call = new PendingCall<Hold[] | Refusal>(context);
    let isOver = false;

    /** Returns whether the call had not ended before. */
    const end = (): boolean => {
      if (isOver) return false;
      isOver = true;
      for (const id of ids) tickets.setIds.delete(id);
      stopListening();
      return true;
    };
    const leaveAll = (tombstone: number): void =>
      set.forEach(({ key, terms }, i) => releases.leave(key, ids[i]!, tombstone, clock.now() + terms.lease));
    const giveUp = (settle: () => void): void => {
      if (!end()) return;
      leaveAll(2 * limits.commandTimeout);
      settle();
    };
    const hold = (wanted: KeyTerms, { token, lease }: HeldReply, id: string): Hold => {
      const grant = { id, token, lease, longest: lease, batchSize: 1, from: sent, epoch, restsOn: epoch };
      const added = grants.addFor(wanted, grant);
      events.acquired(added, sent, false);
      return added;
    };
    const replied = (reply: readonly HeldReply[] | Refusal): void => {
      const isLate = !end();
      if (!isGranted(reply)) return isLate ? undefined : call.served(reply);
      if (isLate) return leaveAll(0);
      if (reply.every(({ lease }) => validUntil(sent, lease) > clock.now())) {
        return call.served(owned.map((wanted, i) => hold(wanted, reply[i]!, ids[i]!)));
      }
      leaveAll(0);
      call.served(tooLate(set));
    };

    for (const id of ids) tickets.setIds.add(id);
    const stopListening = listenToAbort(admission.signal, () => giveUp(() => call.refused(admission.closing)));
    if (signal !== undefined) call.listenTo(signal, () => giveUp(() => call.refused(signal.reason)));
    // The request waits for no other holder, so without a result it is the reply that is missing.
    call.endByReply(replyBy, () =>
      giveUp(() => (known === undefined ? call.refused(unanswered(set)) : call.served(known))),
    );
    const requests = owned.map(({ key, terms }, i) => acquireRequest(context, key, ids[i]!, terms));
    const asked = how === 'together' ? store.acquireAll(requests) : this.askEach(requests, (busy) => (known = busy));
    asked.then(replied, (error: LockError) => giveUp(() => call.served(error)));
    return call.promise;
  }

  /**
   * Asks for each key, and releases what was granted if not all are.
   * @param learn is called with a key that is not free, before the releases have their replies
   * @throws LockError
   */
  private async askEach(
    requests: readonly AcquireRequest[],
    learn: (busy: Busy) => void,
  ): Promise<readonly HeldReply[] | Busy> {
    const { context, releases } = this.parts;
    const results = await Promise.allSettled(requests.map((request) => context.store.acquire(request)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    const replies = results.map((result) => (result as PromiseFulfilledResult<AcquireReply>).value);
    const granted = replies.filter((reply) => reply.outcome === 'held');
    if (granted.length === requests.length) return granted;
    const refused = replies.findIndex(({ outcome }) => outcome !== 'held');
    const busy = busyOrRefused(requests[refused]!, replies[refused]!);
    learn(busy);
    const held = requests.filter((_, i) => replies[i]!.outcome === 'held');
    await Promise.all(
      held.map(({ key, id, lease }) => {
        const until = context.clock.now() + lease;
        return releases.sendInBackground({ key, id, tombstoneFor: 0, keep: 0, next: undefined }, until);
      }),
    );
    return busy;
  }

  private timedOut(
    set: readonly KeyTerms[],
    waitedFor: KeyTerms,
    since: number,
    waitTimeout: number,
  ): LockTimeoutError {
    this.parts.context.events.timeout({ ...waitedFor, since });
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

/** @throws LockError if the store will never grant the request */
function busyOrRefused({ key, mode }: AcquireRequest, reply: AcquireReply): Busy {
  if (reply.outcome !== 'queued' && reply.outcome !== 'busy') throw refusedForever(key, mode, reply);
  return { outcome: 'busy', key, holders: reply.holders, isSplit: reply.isSplit };
}

const isGranted = (reply: readonly HeldReply[] | Refusal): reply is readonly HeldReply[] => Array.isArray(reply);

const busyOf = (refusal: Refusal): Busy | undefined => (refusal instanceof Error ? undefined : refusal);

const byKey = (a: KeyTerms, b: KeyTerms): number => (a.key < b.key ? -1 : 1);
