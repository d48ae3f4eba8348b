import { settledBy, type WaitLimit } from '../common/settle.js';
import { LockStoreError } from '../errors/index.js';
import type { EngineContext } from './engine-context.js';
import type { RenewReply } from '../store/lock-store.js';
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
   * Sets the lease of a hold to `lease` ms from now on.
   * @throws LockLostError, LockStoreError
   */
  async extend(hold: Hold, lease: number): Promise<void> {
    hold.assertHeld();
    const { store, limits, identity, clock } = this.context;
    identity.cover(clock.now(), lease);
    const { epoch } = store;
    const [question, extension] = hold.resize(epoch, lease, 2 * limits.commandTimeout);
    this.watchdog.reschedule(hold);
    const request = { key: hold.key, id: hold.storeId, lease };
    const { shared } = hold;
    // The store may keep the hold longer now than a caller that comes later wants it.
    shared?.close();
    let left: RenewReply;
    if (shared === undefined || shared.isOnly(hold)) {
      left = await store.extend(request);
    } else {
      // The others that share the hold keep their leases, so the store may only make it longer.
      hold.settled(extension);
      left = (await store.renew([request]))[0]!;
    }
    if (left instanceof Error) throw left;
    // Without a reconnect the store received one copy.
    if (epoch === store.epoch) hold.settled(extension);
    if (left === 'not-held') this.watchdog.notHeld(hold);
    else this.watchdog.answered(hold, question, left);
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
    const { key, storeId: id } = hold;
    const answer = store.replicate({ key, id, min, timeout });
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
    const { store } = this.context;
    const { key, storeId: id } = hold;
    const question = hold.ask(store.epoch, this.watchdog.leaseToVerify(hold));
    const [left] = await store.renew([{ key, id, lease: question.lease }]);
    if (left instanceof Error) throw left;
    if (left === 'not-held') this.watchdog.notHeld(hold);
    else return !this.watchdog.answered(hold, question, left ?? 0);
    return true;
  }

  /**
   * A master that is cut off from its replicas still confirms what it has, while one of them has taken over. So the
   * replicas have to confirm, too; returns the error if too few do.
   */
  private async unconfirmedBy(
    { min, timeout }: ReplicaTerms,
    { key, storeId: id }: Hold,
  ): Promise<LockStoreError | undefined> {
    const replicas = await this.context.store.replicate({ key, id, min, timeout });
    if (replicas >= min) return undefined;
    const message = `${replicas} of at least ${min} replicas confirmed '${key}' within ${timeout} ms: another client may hold it`;
    return new LockStoreError(message, { key, transient: true });
  }
}
