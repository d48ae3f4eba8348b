import type { AcquireQueues } from './acquire-queues.js';
import type { Admission } from './admission.js';
import type { BackgroundReleases } from './background-releases.js';
import type { Confirmations } from './confirmations.js';
import type { EngineContext } from './engine-context.js';
import type { Hold, HoldTerms } from './hold.js';
import type { WaitTerms } from './waiter.js';

/** Acquires one key: waits in its queue, and then for the replicas that the caller asks for. */
export class AcquireOne {
  constructor(
    private readonly context: EngineContext,
    private readonly admission: Admission,
    private readonly queues: AcquireQueues,
    private readonly confirmations: Confirmations,
    private readonly background: BackgroundReleases,
  ) {}

  /**
   * Waits for a hold.
   * @throws LockTimeoutError, LockStoreError, or the reason of the caller's signal
   */
  acquire(terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    if (terms.replicas === undefined) return this.acquireUnconfirmed(terms, wait);
    const since = this.context.clock.now();
    return this.acquireUnconfirmed(terms, wait).then(async (hold) => {
      await this.confirmations.confirm([hold], since, wait);
      return hold;
    });
  }

  /** Like `acquire`. The replicas that the caller asks for need not have the hold yet. */
  acquireUnconfirmed(terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    const refusal = this.admission.refusal(wait.signal);
    if (refusal !== undefined) return Promise.reject(refusal);
    const taken = this.background.takeOver(terms);
    return taken === undefined ? this.queues.wait(terms, wait) : Promise.resolve(taken);
  }
}
