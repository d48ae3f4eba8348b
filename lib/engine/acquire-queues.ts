import { inSlices } from '../common/slices.js';
import { AcquireQueue } from './acquire-queue.js';
import type { Hold, HoldTerms } from './hold.js';
import type { AcquireParts, LocalQueue } from './local-queue.js';
import { mayShareHold } from './shared-hold.js';
import { SharingQueue } from './sharing-queue.js';
import { answerDue, Waiter, type WaitTerms } from './waiter.js';

/** The queues in which the callers of this client wait, by key. */
export class AcquireQueues {
  constructor(private readonly parts: AcquireParts) {}

  /** Waits for a hold. */
  wait(terms: HoldTerms, { waitTimeout, answerBy, signal }: WaitTerms): Promise<Hold> {
    const { context } = this.parts;
    const { clock, store, limits } = context;
    const since = clock.now();
    const due = answerBy ?? answerDue(since, waitTimeout, limits.commandTimeout, store.answerTime);
    const waiter = new Waiter(context, terms, since, waitTimeout, due);
    this.queueFor(terms, waitTimeout > 0).join(waiter, signal);
    return waiter.promise;
  }

  /** Local waiters do not hand the key to each other under the grant that stands. */
  endBatch(key: string): void {
    this.parts.pending.sharedQueues.get(key)?.endBatch();
    this.parts.holds.shared.close(key);
  }

  /** Rejects all waiters with `reason`, in slices if there are very many. */
  dismissAll(reason: unknown): Promise<void> {
    const { sharedQueues, sharingQueues, separateQueues } = this.parts.pending;
    const waiters = waitersOf([...sharedQueues.values(), ...sharingQueues.values(), ...separateQueues.values()]);
    return inSlices(waiters, (waiter) => waiter?.refused(reason));
  }

  private queueFor(terms: HoldTerms, waits: boolean): LocalQueue {
    const { sharedQueues, separateQueues } = this.parts.pending;
    const { key, owner, mode, fair } = terms;
    if (fair) this.endBatch(key);
    const sharesHold = mayShareHold(terms, this.parts.context.limits);
    if (waits) {
      const joined = this.openToLater(terms, sharesHold);
      if (joined !== undefined) return joined;
    }
    const isShared = waits && owner === undefined && mode.kind === 'exclusive' && !fair;
    const known = isShared ? sharedQueues.get(key) : undefined;
    if (known !== undefined) return known;
    const queue = sharesHold
      ? new SharingQueue(terms, this.parts, waits)
      : new AcquireQueue(key, isShared ? 'shared' : waits ? 'separate' : 'one-try', this.parts);
    if (isShared) sharedQueues.set(key, queue);
    else if (sharesHold && waits) this.parts.pending.sharingQueues.set(key, queue);
    else separateQueues.add(queue);
    return queue;
  }

  /**
   * The queue of earlier callers for a key that share holds, if this request may join them. Otherwise they are served before
   * it: later requests share neither their ticket nor their holds, so that none of them passes this one.
   */
  private openToLater(terms: HoldTerms, sharesHold: boolean): LocalQueue | undefined {
    const { holds, pending } = this.parts;
    const { key, mode } = terms;
    const queue = pending.sharingQueues.get(key);
    if (sharesHold && queue?.accepts(terms) === true) return queue;
    // A reader lets other readers share holds, whatever its own options.
    holds.shared.close(key, sharesHold || mode.kind === 'read' ? mode : undefined);
    if (queue !== undefined) {
      if (queue instanceof SharingQueue) queue.close();
      pending.sharingQueues.delete(key);
      pending.separateQueues.add(queue);
    }
    return undefined;
  }
}

/** Removes the waiters of one queue after the other. Each queue also yields `undefined`: a slice has a limited number of queues. */
function* waitersOf(queues: Iterable<LocalQueue>): Generator<Waiter | undefined> {
  for (const queue of queues) {
    yield undefined;
    yield* queue.removeAll();
  }
}
