import { settledBy } from '../common/settle.js';
import { TransientMap } from '../common/transient.js';
import { isLockStoreError, type LockStoreError } from '../errors/index.js';
import type { ReleaseReply, ReleaseRequest } from '../store/lock-store.js';
import type { EngineContext } from './engine-context.js';

/** ms from a failed release to the next try. */
const RETRY = 250;

/** Sends releases to the store, repeats failed ones, and finds releases that are not answered yet. */
export class Releases {
  /** Releases that are not answered yet: those of holds by the id of the acquisition, others by themselves. */
  private readonly pending = new TransientMap<string | ReleaseRequest, Promise<ReleaseReply>>();
  private isClosing = false;

  constructor(private readonly context: EngineContext) {}

  /**
   * Sends a release. A transient failure is retried until `until`, but the promise rejects with the first failure.
   */
  send(request: ReleaseRequest, until: number): Promise<ReleaseReply> {
    return this.sendAs(request, request, until);
  }

  /** Like `send`, for a hold: `ofHold` finds the release until it is answered. */
  sendForHold(request: ReleaseRequest, until: number): Promise<ReleaseReply> {
    return this.sendAs(request.id, request, until);
  }

  /** The release of the hold with this id, if it is not answered yet. */
  ofHold(id: string): Promise<ReleaseReply> | undefined {
    return this.pending.get(id);
  }

  /**
   * Releases what an acquisition has in the store, a hold or a place in the queue, in the background. `tombstone`: for how
   * many ms the store refuses the acquisition if its question arrives later. `until`: until when the store may keep it.
   */
  leave(key: string, id: string, tombstone: number, until?: number): void {
    void this.sendInBackground({ key, id, tombstoneFor: tombstone, keep: 0, next: undefined }, until);
  }

  /** Sends a release whose answer no caller needs. The promise resolves with the first answer or failure. */
  sendInBackground(request: ReleaseRequest, until = -Infinity): Promise<unknown> {
    const { clock, limits } = this.context;
    return this.send(request, Math.max(until, clock.now() + 2 * limits.commandTimeout)).catch(() => undefined);
  }

  /**
   * ms for the tombstone of an acquisition that was first asked for in `epoch`. After a reconnect a question from before
   * may still run, behind the release.
   */
  tombstoneFor(epoch: number): number {
    return epoch === this.context.store.epoch ? 0 : 2 * this.context.limits.commandTimeout;
  }

  /** Whether a release that failed is sent again, for as long as its lease may stand. */
  retries(error: unknown): boolean {
    return isLockStoreError(error) && error.transient && !this.isClosing;
  }

  /** Resolves when all releases are answered, or after `timeout` ms. Failures are not retried from now on. */
  async settled(timeout: number): Promise<void> {
    this.isClosing = true;
    if (this.pending.size === 0) return;
    const { timers, clock } = this.context;
    await settledBy(timers, { at: clock.now() + timeout }, Promise.allSettled(this.pending.values()));
  }

  private sendAs(name: string | ReleaseRequest, request: ReleaseRequest, until: number): Promise<ReleaseReply> {
    const answer = this.context.store.release(request);
    this.pending.set(name, answer);
    answer.then(
      () => this.pending.delete(name),
      (error: LockStoreError) => {
        this.pending.delete(name);
        this.retry({ ...request, next: undefined }, until, error);
      },
    );
    return answer;
  }

  private retry(request: ReleaseRequest, until: number, error: LockStoreError): void {
    const { clock, timers, logger } = this.context;
    logger.debug(`could not release '${request.key}' in Redis, will try again: ${error.message}`);
    const now = clock.now();
    if (!this.retries(error) || now > until) return;
    timers.add(now + RETRY, () => {
      this.send(request, until).catch(() => undefined);
    });
  }
}
