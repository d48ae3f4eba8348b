import { settledBy } from '../common/settle.js';
import type { EngineContext } from './engine-context.js';
import type { Hold } from './hold.js';
import type { HoldReleases } from './hold-releases.js';
import type { LeaseOperations } from './lease-operations.js';
import { answerTime, type WaitTerms } from './waiter.js';

/** Waits until the replicas that a call asks for have its new holds, and releases the holds otherwise. */
export class Confirmations {
  constructor(
    private readonly context: EngineContext,
    private readonly leases: LeaseOperations,
    private readonly releases: HoldReleases,
  ) {}

  /**
   * Confirms the holds of a call that began at `since`, all at the same time. The wait takes `timeout` of `replicas` and the
   * time for an answer, however late the holds were granted.
   * @throws LockStoreError if too few replicas have a hold in time; LockLostError; the reason of the caller's signal
   */
  async confirm(holds: readonly Hold[], since: number, { waitTimeout, signal }: WaitTerms): Promise<void> {
    const { clock, timers, limits } = this.context;
    const answer = answerTime(limits.commandTimeout);
    const timeout = Math.max(0, ...holds.map(({ terms }) => terms.replicas?.timeout ?? 0));
    const at = Math.min(clock.now(), since + waitTimeout) + timeout + answer;
    try {
      await Promise.all(holds.map((hold) => this.leases.awaitReplicas(hold, { at, signal })));
      // One may have been lost while the replicas confirmed another one.
      for (const hold of holds) if (!hold.isHeld) throw hold.loss!;
    } catch (error) {
      // The caller has done nothing under these holds, so the keys need not stay taken.
      for (const hold of holds) hold.keepFor(0);
      const released = Promise.allSettled(holds.map((hold) => this.releases.release(hold)));
      // On a dead connection the answer takes a whole `commandTimeout`. The release continues without the caller.
      await settledBy(timers, { at: Math.min(at, clock.now() + answer), isAnswer: true }, released);
      throw error;
    }
  }
}
