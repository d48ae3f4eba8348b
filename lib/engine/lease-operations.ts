import { settledBy } from '../common/settle.js';
import { LockStoreError } from '../errors/index.js';
import type { EngineContext } from './engine-context.js';
import type { Hold, ReplicaTerms } from './hold.js';
import type { HoldReleases } from './hold-releases.js';
import type { LeaseRequest } from './lease-view.js';
import { replyTime, awaitReplies, type WaitTerms } from './waiter.js';
import type { Watchdog } from './watchdog.js';

/** What a holder asks the store about its hold: how much of the lease is left, and which replicas have it. */
export class LeaseOperations {
  constructor(
    private readonly context: EngineContext,
    private readonly watchdog: Watchdog,
    private readonly releases: HoldReleases,
  ) {}

  /**
   * Asks the store whether a hold still stands.
   * @throws LockLostError, LockStoreError
   */
  async verify(hold: Hold): Promise<void> {
    hold.assertHeld();
    // Replicas go first: they may take long, and what is left of the lease is to be recent.
    const { replicas } = hold.terms;
    const unconfirmed = replicas && (await this.unconfirmedBy(replicas, hold));
    const isCertain = (await this.look(hold)) || (await this.look(hold));
    hold.assertHeld();
    if (!isCertain) this.watchdog.renewNow([hold]);
    if (unconfirmed !== undefined) throw unconfirmed;
  }

  /**
   * Has a hold last for at least `lease` ms from now on.
   * @throws LockLostError, LockStoreError
   */
  async extend(hold: Hold, lease: number): Promise<void> {
    hold.assertHeld();
    const { identity, clock } = this.context;
    const { grant } = hold;
    identity.cover(clock.now(), lease);
    // The store may keep the grant for longer now than a later caller wants.
    grant.close();
    const reply = await this.ask(hold, lease);
    if (reply !== undefined && hold.isHeld) {
      hold.extended(reply.request);
      this.watchdog.replied(grant, reply.request, reply.left);
    }
    hold.assertHeld();
  }

  /**
   * Waits until the replicas that a call asks for have its new holds, and releases the holds otherwise. The call began at
   * `since`. The wait takes `timeout` of `replicas` and the time for a reply, however late the holds were granted.
   * @throws LockStoreError if too few replicas have a hold in time; LockLostError; the reason of the caller's signal
   */
  async confirm(holds: readonly Hold[], since: number, { waitTimeout, signal }: WaitTerms): Promise<void> {
    const { clock, limits } = this.context;
    const timeout = Math.max(0, ...holds.map(({ terms }) => terms.replicas?.timeout ?? 0));
    const at = Math.min(clock.now(), since + waitTimeout) + timeout + replyTime(limits.commandTimeout);
    try {
      await Promise.all(holds.map((hold) => this.awaitReplicas(hold, at, signal)));
      // One may have been lost while the replicas confirmed another one.
      for (const hold of holds) hold.assertHeld();
    } catch (error) {
      // The caller has done nothing under these holds, so the keys need not stay taken.
      for (const hold of holds) hold.keepFor(0);
      const released = Promise.allSettled(holds.map(async (hold) => this.releases.release(hold)));
      // On a dead connection the reply takes a whole `commandTimeout`.
      await awaitReplies(this.context, released, at);
      throw error;
    }
  }

  /**
   * Waits until the replicas that a new hold asks for have it, if it asks for any.
   * @throws LockStoreError if too few have it in time, or Redis does not answer by `at`; LockLostError; the reason of `signal`
   */
  private async awaitReplicas(hold: Hold, at: number, signal: AbortSignal | undefined): Promise<void> {
    if (hold.terms.replicas === undefined) return;
    const { min, timeout } = hold.terms.replicas;
    const { store, timers } = this.context;
    const { key, grant } = hold;
    const confirmed = store.replicate({ key, id: grant.id, min, timeout });
    if (!(await settledBy(timers, { at, signals: [signal], isReply: true }, confirmed))) {
      signal?.throwIfAborted();
      const message = `Redis has not answered in time how many replicas have '${key}', so it was released`;
      throw new LockStoreError(message, { key, transient: true });
    }
    const replicas = await confirmed;
    hold.assertHeld();
    if (replicas >= min) return;
    const message = `${replicas} of at least ${min} replicas had '${key}' after ${timeout} ms, so it was released`;
    throw new LockStoreError(message, { key, transient: true });
  }

  /** Asks once how much of the lease is left; returns whether the reply is certain. */
  private async look(hold: Hold): Promise<boolean> {
    hold.assertHeld();
    const reply = await this.ask(hold, this.watchdog.leaseToVerify(hold));
    return reply === undefined || !this.watchdog.replied(hold.grant, reply.request, reply.left);
  }

  /**
   * Asks the store for `lease` ms for the grant of a hold; 0 only looks. Resolves to the request, and to how many ms are left;
   * `undefined`: the hold is lost.
   * @throws LockStoreError
   */
  private async ask({ grant, key }: Hold, lease: number): Promise<{ request: LeaseRequest; left: number } | undefined> {
    const { store, clock } = this.context;
    const request = grant.lease.ask(clock.now(), store.epoch, lease);
    const [left] = await store.renew([{ key, id: grant.id, lease }]);
    if (left instanceof Error) throw left;
    if (left !== 'not-held') return { request, left: left! };
    this.watchdog.notHeld(grant);
    return undefined;
  }

  /**
   * A master that is cut off from its replicas still confirms what it has, while one of them has taken over. So the
   * replicas have to confirm, too; returns the error if too few do.
   */
  private async unconfirmedBy(
    { min, timeout }: ReplicaTerms,
    { key, grant: { id } }: Hold,
  ): Promise<LockStoreError | undefined> {
    const replicas = await this.context.store.replicate({ key, id, min, timeout });
    if (replicas >= min) return undefined;
    const message = `${replicas} of at least ${min} replicas confirmed '${key}' within ${timeout} ms: another client may hold it`;
    return new LockStoreError(message, { key, transient: true });
  }
}
