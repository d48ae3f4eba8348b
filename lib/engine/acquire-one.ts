import type { AcquireQueues } from './acquire-queues.js';
import type { Admission } from './admission.js';
import type { BackgroundReleases } from './background-releases.js';
import type { Hold, HoldTerms, ReplicaTerms } from './hold.js';
import type { HoldReleases } from './hold-releases.js';
import type { LeaseOperations } from './lease-operations.js';
import type { WaitTerms } from './waiter.js';

/** Acquires one key: waits in its queue, and then for the replicas that the caller asks for. */
export class AcquireOne {
  constructor(
    private readonly admission: Admission,
    private readonly queues: AcquireQueues,
    private readonly leases: LeaseOperations,
    private readonly releases: HoldReleases,
    private readonly background: BackgroundReleases,
  ) {}

  /**
   * Waits for a hold.
   * @throws LockTimeoutError, LockStoreError, or the reason of the caller's signal
   */
  acquire(terms: HoldTerms, wait: WaitTerms): Promise<Hold> {
    const refusal = this.admission.refusal(wait.signal);
    if (refusal !== undefined) return Promise.reject(refusal);
    const { replicas } = terms;
    const taken = this.background.takeOver(terms);
    if (taken !== undefined) return Promise.resolve(taken);
    const waiting = this.queues.wait(terms, wait);
    return replicas === undefined ? waiting : waiting.then((hold) => this.replicated(hold, replicas, wait.signal));
  }

  private async replicated(hold: Hold, replicas: ReplicaTerms, signal: AbortSignal | undefined): Promise<Hold> {
    try {
      await this.leases.awaitReplicas(hold, replicas, signal);
      return hold;
    } catch (error) {
      // The caller has done nothing under this hold, so the key need not stay taken.
      hold.keepFor(0);
      await this.releases.release(hold).catch(() => undefined);
      throw error;
    }
  }
}
