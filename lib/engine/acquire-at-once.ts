import { listenToAbort } from '../common/abort.js';
import type { LockError } from '../errors/index.js';
import type { HeldReply } from '../store/lock-store.js';
import type { AcquireParts } from './local-queue.js';
import { acquireRequest } from './acquire-request.js';
import type { Admission } from './admission.js';
import type { Grant, Hold, HoldTerms } from './hold.js';
import { ownedBy, tooLate, unanswered } from './set-terms.js';
import { validUntil } from './validity.js';
import { PendingCall } from './waiter.js';

/** When the caller of a set stops waiting for the answer. */
export interface SetLimit {
  readonly signal: AbortSignal | undefined;
  readonly answerBy: number;
}

/**
 * Acquires several keys in one step. Resolves to `undefined` if they are not all free, and to the error if the store
 * fails.
 * @throws LockStoreError without an answer in time or at shutdown; the reason of the caller's signal
 */
export function acquireAtOnce(
  { context, pending, holds, releases }: AcquireParts,
  admission: Admission,
  set: readonly HoldTerms[],
  { signal, answerBy }: SetLimit,
): Promise<Hold[] | LockError | undefined> {
  const { store, clock, limits } = context;
  const ids = set.map((terms) => context.nextId(terms));
  const owned = set.map((terms, i) => (i === 0 ? terms : ownedBy(ids[0], terms)));
  const sent = clock.now();
  const { epoch } = store;
  const call = new PendingCall<Hold[] | LockError | undefined>(context);
  let isOver = false;

  const end = (): void => {
    isOver = true;
    for (const id of ids) pending.setIds.delete(id);
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
    owned.map((terms, i) => {
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
      const added = holds.add(terms, grant, undefined);
      context.events.acquired(added, sent);
      return added;
    });
  const answered = (replies: readonly HeldReply[] | undefined): void => {
    if (replies === undefined) {
      if (isOver) return;
      end();
      return call.served(undefined);
    }
    if (isOver) return leaveAll(0);
    end();
    const isLate = replies.some(({ lease }) => validUntil(sent, lease) <= clock.now());
    if (isLate) leaveAll(0);
    call.served(isLate ? tooLate(set) : hold(replies));
  };

  for (const id of ids) pending.setIds.add(id);
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
    if (giveUp()) call.refused(unanswered(set));
  });
  const requests = owned.map((terms, i) =>
    acquireRequest(context, ids[i]!, { ...terms, waits: false, batchSize: 1, uncontendedBatchSize: 1 }),
  );
  store.acquireAll(requests).then(answered, (error: LockError) => {
    if (giveUp()) call.served(error);
  });
  return call.promise;
}
