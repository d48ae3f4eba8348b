import type { TimerQueue } from '../common/timer-queue.js';
import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import { TransientSet } from '../common/transient.js';
import type { LockStoreError } from '../errors/index.js';
import type { LockStore, ReleaseReply, ReleaseRequest } from '../store/lock-store.js';

/** How many ms after a failed release the next one is tried. */
const AGAIN = 250;

/** Sends releases and leaves, sees to it that they arrive, and knows which are still on their way. */
export class Releases {
  private readonly pending = new TransientSet<Promise<unknown>>();
  private closing = false;

  constructor(
    private readonly store: LockStore,
    private readonly clock: Clock,
    private readonly timers: TimerQueue,
    private readonly logger: LockLogger,
  ) {}

  /**
   * Sends a release. One that fails for a reason that passes is tried again until `until`, when it matters no more; the
   * caller hears of the first failure all the same.
   */
  send(request: ReleaseRequest, until: number): Promise<ReleaseReply> {
    const answer = this.store.release(request);
    this.pending.add(answer);
    answer.then(
      () => this.pending.delete(answer),
      (error: LockStoreError) => {
        this.pending.delete(answer);
        this.sendLater({ ...request, next: undefined }, until, error);
      },
    );
    return answer;
  }

  /** Resolves when all is answered, or after `timeout` ms; nothing is tried again from now on. */
  async settled(timeout: number): Promise<void> {
    this.closing = true;
    if (this.pending.size === 0) return;
    let timer: unknown;
    const limit = new Promise<void>((resolve) => {
      timer = this.clock.setTimer(timeout, resolve);
    });
    await Promise.race([Promise.allSettled(this.pending.values()), limit]);
    this.clock.clearTimer(timer);
  }

  private sendLater(request: ReleaseRequest, until: number, error: LockStoreError): void {
    this.logger.debug(`could not tell Redis that '${request.key}' is not wanted any more: ${error.message}`);
    const now = this.clock.now();
    if (!error.transient || this.closing || now > until) return;
    this.timers.add(now + AGAIN, () => {
      this.send(request, until).catch(() => undefined);
    });
  }
}
