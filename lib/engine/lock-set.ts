import { listenToAbort } from '../common/abort.js';
import type { TimerQueue } from '../common/timer-queue.js';
import type { Clock } from '../common/clock.js';
import { isLockStoreError, LockLostError, LockStoreError, LockTimeoutError } from '../errors/index.js';
import type { HeldReply, LockStore } from '../store/lock-store.js';
import type { Grant, Hold, HoldTerms } from './hold.js';
import { acquireRequest, type RequestEnvironment } from './acquire-request.js';
import { validUntil } from './validity.js';
import { answerDue, type WaitTerms } from './waiter.js';

/** What taking several locks needs from its surroundings. */
export interface LockSetEnvironment extends RequestEnvironment {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly timers: TimerQueue;
  /** Aborts when nobody is given a lock any more. */
  readonly closingSignal: AbortSignal;
  /** Acquisitions that have been asked for in one step: whoever finds one of them among the holders leaves it alone. */
  readonly askedAtOnce: Set<string>;
  nextId(): string;
  acquire(terms: HoldTerms, wait: WaitTerms): Promise<Hold>;
  release(hold: Hold): Promise<boolean>;
  extend(hold: Hold, lease: number): Promise<void>;
  /** Makes the hold of a grant for which nobody has waited, and watches over it. */
  adopt(terms: HoldTerms, grant: Grant): Hold;
  /** Sends what nobody waits for: a leave. */
  leave(key: string, id: string, remember: number): void;
}

/**
 * Takes several locks, all or none: in one step where all are free, else one by one, each in its queue. Whoever takes them
 * one by one does so in the order of their keys, so two of them never wait for each other (Havender's ordering).
 * Answers in the order of `set`.
 */
export async function acquireSet(
  environment: LockSetEnvironment,
  set: readonly HoldTerms[],
  wait: WaitTerms,
): Promise<Hold[]> {
  const since = environment.clock.now();
  // One limit for the whole set, however many questions it takes.
  const { store, commandTimeout } = environment;
  // Far masters are asked for one key after the other.
  const answerTime = set.length * (store.answerTime ?? 0);
  const answerBy = answerDue(since, wait.waitTimeout, commandTimeout, answerTime);
  // Each of those that replicas have to confirm is a matter of its own.
  const atOnce = set.some(({ replicas }) => replicas) ? undefined : await takeAtOnce(environment, set, wait, answerBy);
  return atOnce ?? (await takeInOrder(environment, set, { ...wait, answerBy }, since + wait.waitTimeout));
}

async function takeInOrder(
  environment: LockSetEnvironment,
  set: readonly HoldTerms[],
  { waitTimeout, answerBy = Infinity, signal }: WaitTerms,
  deadline: number,
): Promise<Hold[]> {
  const held = new Map<string, Hold>();
  let owner: string | undefined;
  try {
    for (const terms of [...set].sort(byKey)) {
      const left = waitTimeout === 0 ? 0 : deadline - environment.clock.now();
      // Once something is held the time may have gone by for replicas: the rest may be free, so one try.
      if (left < 0 && held.size === 0) {
        const message = `${named(set)} were not all free within the waitTimeout of ${waitTimeout} ms`;
        throw new LockTimeoutError(message, { key: terms.key });
      }
      // Renewed while the others are waited for, and not kept if they are waited for in vain.
      const meanwhile = { ...ownedBy(owner, terms), renews: true, maxRenewTimes: 0, holdAtLeast: 0 };
      const hold = await environment.acquire(meanwhile, { waitTimeout: Math.max(0, left), answerBy, signal });
      held.set(terms.key, hold);
      // The first one waits as nobody in particular, so that it shares the ticket of this client.
      owner ??= ownerOf(hold);
    }
    const begun = Promise.all(set.map((terms) => begin(environment, held.get(terms.key)!, terms)));
    if (!(await settledBy(environment, begun, answerBy))) throw unanswered(set);
    await begun;
    held.forEach(refuseLost); // the last answer may have come late for the others
    const now = environment.clock.now();
    for (const { key, holdAtLeast } of set) keepFrom(now, held.get(key)!, holdAtLeast);
  } catch (error) {
    const released = Promise.allSettled([...held.values()].map((hold) => environment.release(hold)));
    // Not where the store is out of reach: that would take as long once more.
    if (!isLockStoreError(error) || !error.transient) await settledBy(environment, released, answerBy);
    throw error;
  }
  return set.map(({ key }) => held.get(key)!);
}

/** The owner of a hold, which is used elsewhere from now on: whoever had the key in turn after it would be let in there. */
function ownerOf(hold: Hold): string {
  hold.ownerIsKnown = true;
  return hold.owner;
}

/** Whoever names no owner has one for all keys nevertheless: the one under which the first of them is held. */
const ownedBy = (owner: string | undefined, terms: HoldTerms): HoldTerms => ({ ...terms, owner: terms.owner ?? owner });

const byKey = (a: HoldTerms, b: HoldTerms): number => (a.key < b.key ? -1 : 1);

/** Resolves when `work` has settled, or at `time`; tells which. */
function settledBy({ timers }: LockSetEnvironment, work: Promise<unknown>, time: number): Promise<boolean> {
  return new Promise((resolve) => {
    const limit = timers.addLimit(time, () => resolve(false));
    const settled = (): void => {
      timers.cancel(limit);
      resolve(true);
    };
    work.then(settled, settled);
  });
}

/** The last one has been taken, so a lease that is fixed or counted begins now. */
async function begin(environment: LockSetEnvironment, hold: Hold, terms: HoldTerms): Promise<void> {
  hold.terms = { ...terms, owner: hold.terms.owner, holdAtLeast: 0 };
  hold.renewals = 0;
  refuseLost(hold);
  if (!terms.renews || terms.maxRenewTimes > 0) await environment.extend(hold, terms.lease);
}

/** @throws LockLostError */
function refuseLost(hold: Hold): void {
  if (!hold.isHeld) throw hold.loss ?? new LockLostError(`the lock '${hold.key}' was lost`, { key: hold.key });
}

/** What is kept for some time counts from the acquisition of the last one; a hold counts from its own. */
function keepFrom(now: number, hold: Hold, holdAtLeast: number): void {
  if (holdAtLeast > 0) hold.terms = { ...hold.terms, holdAtLeast: now - hold.acquiredAt + holdAtLeast };
}

/** `undefined`: they were not all free, or the store could not say. */
function takeAtOnce(
  environment: LockSetEnvironment,
  set: readonly HoldTerms[],
  { signal }: WaitTerms,
  answerBy: number,
): Promise<Hold[] | undefined> {
  const { store, clock, timers } = environment;
  return new Promise((resolve, reject) => {
    let over = false;
    const ids = set.map(() => environment.nextId());
    const owned = set.map((terms, i) => (i === 0 ? terms : ownedBy(ids[0], terms)));
    for (const id of ids) environment.askedAtOnce.add(id);
    const sent = clock.now();
    const { epoch } = store;

    const finish = (tell: () => void): void => {
      if (over) return;
      over = true;
      for (const id of ids) environment.askedAtOnce.delete(id);
      for (const stop of stopListening) stop();
      timers.cancel(deadline);
      tell();
    };
    const leaveAll = (remember: number): void => set.forEach(({ key }, i) => environment.leave(key, ids[i]!, remember));
    const giveUp = (tell: () => void): void =>
      finish(() => {
        leaveAll(2 * environment.commandTimeout);
        tell();
      });

    const stopListening = [environment.closingSignal, ...(signal ? [signal] : [])].map((each) =>
      listenToAbort(each, () => giveUp(() => reject(each.reason as Error))),
    );
    // It waits for nobody, so all that it may lack at that time is the answer.
    const deadline = timers.addLimit(answerBy, () => giveUp(() => reject(unanswered(set))));

    const answered = (replies: readonly HeldReply[] | undefined): void => {
      if (replies === undefined) return finish(() => resolve(undefined));
      if (over) return leaveAll(0);
      finish(() => {
        const late = replies.some(({ lease }) => validUntil(sent, lease) <= clock.now());
        if (late) leaveAll(0);
        resolve(late ? undefined : owned.map((terms, i) => environment.adopt(terms, grantOf(ids[i]!, replies[i]!))));
      });
    };
    const grantOf = (id: string, { token, lease }: HeldReply): Grant => ({
      ...{ id, token, lease, epoch, restsOn: epoch },
      longest: lease,
      turns: 1,
      from: sent,
    });

    store
      .acquireAll(
        owned.map((terms, i) =>
          acquireRequest(environment, ids[i]!, { ...terms, waits: false, turns: 1, turnsAlone: 1 }),
        ),
      )
      .then(
        answered,
        // One by one it is tried again for as long as it makes sense.
        () => giveUp(() => resolve(undefined)),
      );
  });
}

const unanswered = (set: readonly HoldTerms[]): LockStoreError =>
  new LockStoreError(`Redis has not answered yet whether ${named(set)} are free`, { transient: true });

const named = (set: readonly HoldTerms[]): string => set.map(({ key }) => `'${key}'`).join(', ');
