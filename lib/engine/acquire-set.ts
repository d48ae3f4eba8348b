import { settledBy } from '../common/settle.js';
import { isLockStoreError, LockTimeoutError } from '../errors/index.js';
import { notGranted, type AcquireParts, type KeyQueues } from './key-queue.js';
import { acquireAtOnce, named, ownedBy, unanswered, type Busy, type Refusal } from './acquire-at-once.js';
import type { Admission } from './admission.js';
import type { Hold, HoldTerms, KeyTerms } from './hold.js';
import type { HoldReleases } from './hold-releases.js';
import type { LeaseOperations } from './lease-operations.js';
import { answerDue, nextAnswerDue, type WaitTerms } from './waiter.js';

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
    // One limit for the whole set, however many questions it takes.
    const answerBy = answerDue(since, wait.waitTimeout, limits.commandTimeout, store.answerTime);
    const limit = { ...wait, answerBy };
    const atOnce =
      admission.unreachable(set[0]!.key) ?? (await acquireAtOnce(parts, admission, set, limit, 'together'));
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
  private async tryEach(
    set: readonly KeyTerms[],
    limit: WaitTerms & { readonly answerBy: number },
    since: number,
    refusal: Refusal,
  ): Promise<Hold[]> {
    const { parts, admission } = this;
    let found = refusal;
    const busy = busyOf(refusal);
    // What keeps this try from the key may be a release of this client that the store had not executed yet.
    const released = busy && parts.orphans.releaseHolders(busy.key, busy.holders);
    if (released !== undefined) {
      await settledBy(parts.context.timers, { at: limit.answerBy, isAnswer: true }, released);
    }
    if (released !== undefined || found === undefined) {
      const each = await acquireAtOnce(parts, admission, set, limit, 'each', busy);
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
    { waitTimeout, answerBy, signal }: WaitTerms & { readonly answerBy: number },
    since: number,
    refusal: Refusal,
  ): Promise<Hold[]> {
    const { parts, queues, releases } = this;
    const { clock, timers, store } = parts.context;
    const deadline = since + waitTimeout;
    // Independent masters are asked for one key after another.
    const nextBy = (): number => nextAnswerDue({ since, now: clock.now(), answerBy }, waitTimeout, store.answerTime);
    const held = new Map<string, Hold>();
    let waitedFor = set[0]!;
    let owner: string | undefined;
    try {
      for (const wanted of [...set].sort(byKey)) {
        waitedFor = wanted;
        const { key, terms } = wanted;
        const left = deadline - clock.now();
        // Once a key is held, the next one may be free, so it gets one try.
        if (left < 0 && held.size === 0) {
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
          answerBy: held.size === 0 ? answerBy : nextBy(),
          signal,
        });
        held.set(key, hold);
        // The first key is acquired without an owner, so that it shares the ticket of this client. Its owner holds the other
        // keys, too, so the next local waiter must not get that owner with the lock.
        owner ??= hold.exposeOwner();
      }
      const begun = Promise.all(set.map(({ key, terms }) => this.begin(held.get(key)!, terms)));
      if (!(await settledBy(timers, { at: nextBy(), isAnswer: true }, begun))) throw unanswered(set);
      await begun;
      held.forEach(refuseLost); // the last answer may have come late for the other keys
      for (const { key, terms } of set) if (terms.holdAtLeast > 0) held.get(key)!.keepFor(terms.holdAtLeast);
    } catch (error) {
      const released = Promise.allSettled([...held.values()].map((hold) => releases.release(hold)));
      // If the store is unreachable, waiting for the releases would take as long again.
      if (!isLockStoreError(error) || !error.transient)
        await settledBy(timers, { at: answerBy, isAnswer: true }, released);
      // The time was over before the store could answer once more. It has answered that not all keys were free.
      else if (busyOf(refusal) !== undefined && store.outage === undefined && clock.now() >= deadline)
        throw this.timedOut(set, waitedFor, since, waitTimeout);
      throw error;
    }
    return set.map(({ key }) => held.get(key)!);
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
    refuseLost(hold);
    if (!terms.renews || terms.maxRenewTimes > 0) await this.leases.extend(hold, terms.lease);
  }
}

const busyOf = (refusal: Refusal): Busy | undefined => (refusal instanceof Error ? undefined : refusal);

const byKey = (a: KeyTerms, b: KeyTerms): number => (a.key < b.key ? -1 : 1);

/** @throws LockLostError */
function refuseLost(hold: Hold): void {
  if (!hold.isHeld) throw hold.loss ?? hold.releasedError();
}
