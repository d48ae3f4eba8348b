import { settledBy, type WaitLimit } from '../common/settle.js';
import { LockStoreError } from '../errors/index.js';
import type { EngineContext } from './engine-context.js';
import type { Hold, ReplicaTerms } from './hold.js';
import type { Watchdog } from './watchdog.js';

/** What a holder asks the store about its hold. */
export class LeaseOperations {
  constructor(
    private readonly context: EngineContext,
    private readonly watchdog: Watchdog,
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
    const { store, identity, clock } = this.context;
    const { grant, key } = hold;
    identity.cover(clock.now(), lease);
    // The store may keep the grant for longer now than a later caller wants.
    grant.close();
    const question = grant.lease.ask(clock.now(), store.epoch, lease);
    const [left] = await store.renew([{ key, id: grant.id, lease }]);
    if (left instanceof Error) throw left;
    if (left === 'not-held') this.watchdog.notHeld(grant);
    else if (hold.isHeld) {
      hold.extended(question);
      this.watchdog.answered(grant, question, left!);
    }
    hold.assertHeld();
  }

  /**
   * Waits until the replicas that a new hold asks for have it, if it asks for any.
   * @throws LockStoreError if too few have it in time, or Redis does not answer by `limit`; LockLostError; the reason of the
   * signal of `limit`
   */
  async awaitReplicas(hold: Hold, limit: Omit<WaitLimit, 'isAnswer'>): Promise<void> {
    if (hold.terms.replicas === undefined) return;
    const { min, timeout } = hold.terms.replicas;
    const { store, timers } = this.context;
    const { key, grant } = hold;
    const answer = store.replicate({ key, id: grant.id, min, timeout });
    if (!(await settledBy(timers, { ...limit, isAnswer: true }, answer))) {
      limit.signal?.throwIfAborted();
      const message = `Redis has not answered in time how many replicas have '${key}', so it was released`;
      throw new LockStoreError(message, { key, transient: true });
    }
    const replicas = await answer;
    if (!hold.isHeld) throw hold.loss!;
    if (replicas >= min) return;
    const message = `${replicas} of at least ${min} replicas had '${key}' after ${timeout} ms, so it was released`;
    throw new LockStoreError(message, { key, transient: true });
  }

  /** Asks once how much of the lease is left; returns whether the answer is certain. */
  private async look(hold: Hold): Promise<boolean> {
    hold.assertHeld();
    const { store, clock } = this.context;
    const { key, grant } = hold;
    const question = grant.lease.ask(clock.now(), store.epoch, this.watchdog.leaseToVerify(hold));
    const [left] = await store.renew([{ key, id: grant.id, lease: question.lease }]);
    if (left instanceof Error) throw left;
    if (left === 'not-held') this.watchdog.notHeld(grant);
    else return !this.watchdog.answered(grant, question, left ?? 0);
    return true;
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
