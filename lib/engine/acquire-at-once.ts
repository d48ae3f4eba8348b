import { listenToAbort } from '../common/abort.js';
import { LockStoreError, type LockError } from '../errors/index.js';
import type { AcquireReply, AcquireRequest, HeldReply } from '../store/lock-store.js';
import type { AcquireParts } from './key-queue.js';
import { acquireRequest } from './hold-terms.js';
import type { Admission } from './admission.js';
import type { Grant, Hold, HoldTerms, KeyTerms } from './hold.js';
import { tooManyPermits, upgradeRefused } from './refusals.js';
import { validUntil } from './lease-view.js';
import { PendingCall } from './waiter.js';

/** When the caller of a set stops waiting for the answer. */
export interface SetLimit {
  readonly signal: AbortSignal | undefined;
  readonly answerBy: number;
}

/** One of the keys is not free. */
export interface Busy {
  readonly outcome: 'busy';
  readonly key: string;
  readonly holders: readonly string[];
  readonly isSplit?: boolean | undefined;
}

/** Why a set was not acquired. `undefined`: only a request for each key can tell whether it is free. */
export type Refusal = Busy | LockError | undefined;

/** How a set is asked for: with one request for all keys, or with a request for each key at the same time. */
export type How = 'together' | 'each';

/**
 * Acquires several keys at once, all or none, without a place in a queue.
 * @param known what an earlier request has found, which is the result if there is no answer in time
 * @throws LockStoreError without an answer in time or at shutdown; the reason of the caller's signal
 */
export function acquireAtOnce(
  parts: AcquireParts,
  admission: Admission,
  set: readonly KeyTerms[],
  { signal, answerBy }: SetLimit,
  how: How,
  known?: Busy,
): Promise<Hold[] | Refusal> {
  const { context, tickets, grants, releases } = parts;
  const { store, clock, limits } = context;
  const ids = set.map(({ terms }) => context.identity.nextId(terms));
  const owned = set.map(({ key, terms }, i) => ({ key, terms: i === 0 ? terms : ownedBy(ids[0], terms) }));
  const sent = clock.now();
  const { epoch } = store;
  const call = new PendingCall<Hold[] | Refusal>(context);
  let isOver = false;

  const end = (): void => {
    isOver = true;
    for (const id of ids) tickets.setIds.delete(id);
    stopListening();
  };
  const leaveAll = (tombstone: number): void => set.forEach(({ key }, i) => releases.leave(key, ids[i]!, tombstone));
  const giveUp = (): boolean => {
    if (isOver) return false;
    end();
    leaveAll(2 * limits.commandTimeout);
    return true;
  };
  const hold = (replies: readonly HeldReply[]): Hold[] =>
    owned.map((wanted, i) => {
      const { token, lease } = replies[i]!;
      const grant: Grant = {
        id: ids[i]!,
        token,
        lease,
        longest: lease,
        batchSize: 1,
        from: sent,
        epoch,
        restsOn: epoch,
      };
      const added = grants.addFor(wanted, grant);
      context.events.acquired(added, sent, false);
      return added;
    });
  const answered = (reply: readonly HeldReply[] | Refusal): void => {
    if (!isGranted(reply)) {
      if (isOver) return;
      end();
      return call.served(reply);
    }
    if (isOver) return leaveAll(0);
    end();
    const isLate = reply.some(({ lease }) => validUntil(sent, lease) <= clock.now());
    if (isLate) leaveAll(0);
    call.served(isLate ? tooLate(set) : hold(reply));
  };

  for (const id of ids) tickets.setIds.add(id);
  const stopListening = listenToAbort(admission.signal, () => {
    if (giveUp()) call.refused(admission.closing);
  });
  if (signal !== undefined) {
    call.listenTo(signal, () => {
      if (giveUp()) call.refused(signal.reason);
    });
  }
  // The request waits for no other holder, so without a result it is the answer that is missing.
  call.endByAnswer(answerBy, () => {
    if (!giveUp()) return;
    if (known === undefined) call.refused(unanswered(set));
    else call.served(known);
  });
  const requests = owned.map(({ key, terms }, i) => acquireRequest(context, key, ids[i]!, terms));
  const asked =
    how === 'together'
      ? store.acquireAll(requests)
      : askEach(parts, requests, (busy) => {
          known = busy;
        });
  asked.then(answered, (error: LockError) => {
    if (giveUp()) call.served(error);
  });
  return call.promise;
}

/** A caller that names no owner still holds all keys of a set under one owner: that of its first hold. */
export const ownedBy = (owner: string | undefined, terms: HoldTerms): HoldTerms => ({
  ...terms,
  owner: terms.owner ?? owner,
});

/** The keys of a set, for messages. */
export const named = (set: readonly KeyTerms[]): string => set.map(({ key }) => `'${key}'`).join(', ');

/** The store has not answered in time for a set. */
export const unanswered = (set: readonly KeyTerms[]): LockStoreError =>
  new LockStoreError(`Redis has not answered yet whether ${named(set)} are free`, {
    key: set[0]!.key,
    transient: true,
  });

/** The store has answered for a set, but only after a lease. */
export const tooLate = (set: readonly KeyTerms[]): LockStoreError =>
  new LockStoreError(`Redis answered after the lease of ${named(set)} had ended`, {
    key: set[0]!.key,
    transient: true,
  });

/**
 * Asks for each key, and releases what was granted if not all are.
 * @param learn is called with a key that is not free, before the releases are answered
 * @throws LockError
 */
async function askEach(
  { context, releases }: AcquireParts,
  requests: readonly AcquireRequest[],
  learn: (busy: Busy) => void,
): Promise<readonly HeldReply[] | Busy> {
  const replies: AcquireReply[] = [];
  let error: Error | undefined;
  for (const answer of await Promise.allSettled(requests.map((request) => context.store.acquire(request)))) {
    if (answer.status === 'fulfilled') replies.push(answer.value);
    else error ??= answer.reason as Error;
  }
  if (error !== undefined) throw error;
  const granted = replies.filter((reply) => reply.outcome === 'held');
  if (granted.length === requests.length) return granted;
  const refused = replies.findIndex(({ outcome }) => outcome !== 'held');
  const busy = busyOrRefused(requests[refused]!, replies[refused]!);
  learn(busy);
  const held = requests.filter((_, i) => replies[i]!.outcome === 'held');
  await Promise.all(
    held.map(({ key, id }) => releases.sendInBackground({ key, id, tombstoneFor: 0, keep: 0, next: undefined })),
  );
  return busy;
}

/** @throws LockError if the store will never grant the request */
function busyOrRefused(request: AcquireRequest, reply: AcquireReply): Busy {
  const { key, mode } = request;
  switch (reply.outcome) {
    case 'upgrade':
      throw upgradeRefused(key);
    case 'too many':
      throw tooManyPermits(key, mode, reply.limit);
    case 'queued':
    case 'busy':
      return { outcome: 'busy', key, holders: reply.holders, isSplit: reply.isSplit };
    default:
      throw new LockStoreError('the acquisition was already abandoned', { key });
  }
}

const isGranted = (reply: readonly HeldReply[] | Refusal): reply is readonly HeldReply[] => Array.isArray(reply);
