import { listenToAbort } from '../common/abort.js';
import { READING_TIME, type TimerEntry } from '../common/timer-queue.js';
import { LockStoreError } from '../errors/index.js';
import type { LatchStore } from '../store/latch-store.js';
import type { ReplicaTerms } from './hold.js';
import { LatchWaiter, LatchWatch, unanswered, type LatchEnvironment } from './latch-watch.js';
import { answerDue, type WaitTerms } from './waiter.js';

/** The count-down latches of a client: counts them down, and knows who waits for which. */
export class Latches {
  private readonly watches = new Map<string, LatchWatch>();
  private closing: LockStoreError | undefined;

  constructor(
    private readonly latches: LatchStore,
    private readonly environment: LatchEnvironment,
  ) {}

  /** @throws LockStoreError, also when it was set and too few replicas have it */
  async trySetCount(key: string, count: number, lifetime: number, replicas?: ReplicaTerms): Promise<boolean> {
    this.refuseUnreachable();
    const id = this.environment.nextId();
    const made = await this.latches.setCount({ key, id, count, lifetime });
    if (made && replicas !== undefined) await this.replicated(key, id, replicas, 'it is set on the master');
    return made;
  }

  /** @throws LockStoreError, also when it has counted and too few replicas have it */
  async countDown(key: string, replicas?: ReplicaTerms): Promise<number> {
    this.refuseUnreachable();
    const id = this.environment.nextId();
    const { left, counted } = await this.latches.countDown(key, id);
    if (counted && replicas !== undefined) await this.replicated(key, id, replicas, 'the master has counted');
    return left;
  }

  /** @throws LockStoreError */
  async count(key: string): Promise<number> {
    this.refuseUnreachable();
    return (await this.latches.count(key, 0, [])).left;
  }

  /**
   * Waits for a latch to open; `false`: it was closed when the time was over.
   * @throws LatchLostError, LockStoreError, or the reason of the caller's signal
   */
  async wait(key: string, { waitTimeout, signal }: WaitTerms): Promise<boolean> {
    if (this.closing !== undefined) throw this.closing;
    this.refuseUnreachable();
    signal?.throwIfAborted();
    const { timers, clock } = this.environment;
    const waiter = new LatchWaiter();
    const watch = waitTimeout > 0 ? this.watchOf(key) : undefined;
    const stopListening = signal && listenToAbort(signal, () => waiter.refused(signal.reason));
    const since = clock.now();
    const due = answerDue(since, waitTimeout, this.environment.commandTimeout);
    const isOver = (): void => timedOut(waiter, watch === undefined ? unanswered(key) : watch.troubleOf(waiter));
    const deadline: TimerEntry =
      waitTimeout > 0
        ? timers.add(since + waitTimeout, () => {
            // The first answer is waited for, however short the wait is.
            if (watch?.awaitsAnswer(waiter)) timers.move(deadline, Math.max(due, clock.now() + READING_TIME));
            else isOver();
          })
        : timers.addLimit(due, isOver);
    if (watch !== undefined) watch.join(waiter);
    else
      this.count(key).then(
        (left) => waiter.answered(left === 0),
        (error: unknown) => waiter.refused(error),
      );
    const sleep = clock.keepAlive();
    try {
      return await waiter.promise;
    } finally {
      sleep();
      stopListening?.();
      timers.cancel(deadline);
      watch?.quit(waiter);
    }
  }

  /** What the store tells of its own accord. */
  opened(key: string, latch: string): void {
    this.watches.get(key)?.opened(latch);
  }

  /** The store hears again. */
  askNow(): void {
    for (const watch of this.watches.values()) watch.ask();
  }

  /** Refuses to wait any more, and tells all who do. */
  stopWaiting(closing: LockStoreError): void {
    this.closing ??= closing;
    for (const watch of [...this.watches.values()]) watch.dismissAll(this.closing);
  }

  private async replicated(key: string, id: string, { min, timeout }: ReplicaTerms, done: string): Promise<void> {
    const replicas = await this.latches.replicate({ key, id, min, timeout });
    if (replicas >= min) return;
    const message =
      `${replicas} of at least ${min} replicas had the latch '${key}' as it is now after ${timeout} ms; ` +
      `${done}, so do not repeat the call: getCount() tells how much is left`;
    throw new LockStoreError(message, { key, transient: true });
  }

  /** What is sent now would only pile up, and be executed when nobody expects it any more. */
  private refuseUnreachable(): void {
    const { unreachable } = this.environment.store;
    if (unreachable !== undefined) throw unreachable;
  }

  private watchOf(key: string): LatchWatch {
    let watch = this.watches.get(key);
    if (watch === undefined) {
      watch = new LatchWatch(key, this.latches, this.environment, () => this.watches.delete(key));
      this.watches.set(key, watch);
    }
    return watch;
  }
}

function timedOut(waiter: LatchWaiter, trouble: LockStoreError | undefined): void {
  if (trouble === undefined) waiter.answered(false);
  else waiter.refused(trouble);
}
