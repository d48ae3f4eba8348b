import type { AcquireQueues } from './acquire-queues.js';
import type { Admission } from './admission.js';
import type { BackgroundReleases } from './background-releases.js';
import type { Confirmations } from './confirmations.js';
import type { EngineContext } from './engine-context.js';
import type { Hold, HoldTerms } from './hold.js';
import type { HoldRegistry } from './hold-registry.js';
import type { LocalQueue } from './local-queue.js';
import type { WaitTerms } from './waiter.js';

interface AcquireOneParts {
  readonly context: EngineContext;
  readonly admission: Admission;
  readonly holds: HoldRegistry<LocalQueue>;
  readonly queues: AcquireQueues;
  readonly confirmations: Confirmations;
  readonly background: BackgroundReleases;
}

/** Acquires one key: waits in its queue, and then for the replicas that the caller asks for. */
export class AcquireOne {
  constructor(private readonly parts: AcquireOneParts) {}

  /**
   * Waits for a hold.
   * @throws LockTimeoutError, LockStoreError, or the reason of the caller's signal
   */
  acquire(terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    if (terms.replicas === undefined) return this.acquireUnconfirmed(terms, wait);
    const { context, confirmations } = this.parts;
    const since = context.clock.now();
    return this.acquireUnconfirmed(terms, wait).then(async (hold) => {
      await confirmations.confirm([hold], since, wait);
      return hold;
    });
  }

  /** Like `acquire`. The replicas that the caller asks for need not have the hold yet. */
  acquireUnconfirmed(terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    const { admission, background, queues } = this.parts;
    const refusal = admission.refusal(wait);
    if (refusal !== undefined) return Promise.reject(refusal);
    const taken = this.share(terms) ?? background.takeOver(terms);
    return taken === undefined ? queues.wait(terms, wait) : Promise.resolve(taken);
  }

  /** Joins the readers that share a hold of this client, without a command. */
  private share(terms: HoldTerms): Hold | undefined {
    const { context, holds } = this.parts;
    const shared = holds.shared.openFor(terms);
    if (shared === undefined) return undefined;
    const hold = holds.share(shared, terms);
    context.events.acquired(hold, hold.acquiredAt);
    return hold;
  }
}
