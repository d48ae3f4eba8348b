import { settledBy } from '../common/settle.js';
import { LockStoreError } from '../errors/index.js';
import type { LatchCount, LatchStore } from '../store/latch-store.js';
import type { Admission } from './admission.js';
import type { EngineContext } from './engine-context.js';
import type { ReplicaTerms } from './hold.js';
import { LatchWaiter, LatchWatch, lost, unanswered } from './latch-watch.js';
import { SeenLatches } from './seen-latches.js';
import { replyDue, type WaitTerms } from './waiter.js';

/** The count-down latches of a client: counts them down, and waits for them. */
export class Latches {
  private readonly watches = new Map<string, LatchWatch>();
  private readonly seen: SeenLatches;

  constructor(
    private readonly context: EngineContext,
    private readonly store: LatchStore,
    private readonly admission: Admission,
  ) {
    this.seen = new SeenLatches(context.clock);
  }

  /** @throws LockStoreError, even if the latch was set but too few replicas have it */
  async trySetCount(key: string, count: number, lifetime: number, replicas?: ReplicaTerms): Promise<boolean> {
    const id = this.context.identity.nextId();
    const sent = this.context.clock.now();
    return this.admission.command(key, async () => {
      const made = await this.store.setCount({ key, id, count, lifetime });
      if (made) this.seen.closed(key, id, sent);
      if (made && replicas !== undefined) await this.replicated(key, id, replicas, 'it is set on the master');
      return made;
    });
  }

  /** @throws LockStoreError, even if the call has counted but too few replicas have it */
  async countDown(key: string, replicas?: ReplicaTerms): Promise<number> {
    const id = this.context.identity.nextId();
    return this.admission.command(key, async () => {
      const { left, counted } = await this.store.countDown(key, id);
      if (counted && replicas !== undefined) await this.replicated(key, id, replicas, 'the master has counted');
      return left;
    });
  }

  /** @throws LockStoreError */
  async count(key: string): Promise<number> {
    return (await this.read(key)).left;
  }

  /**
   * Deletes a latch without opening it; resolves to whether this call has.
   * @throws LockStoreError
   */
  async delete(key: string): Promise<boolean> {
    return this.admission.command(key, async () => {
      const { left, latch } = await this.store.count(key, 0, []);
      // By its name: a command that the network delays must not delete the next latch.
      return left > 0 && this.store.delete(key, this.context.identity.nextId(), latch);
    });
  }

  /**
   * Waits for a latch to open; resolves to `false` if it is still closed when the time is over.
   * @throws LatchLostError, LockStoreError, or the reason of the caller's signal
   */
  async wait(key: string, wait: WaitTerms): Promise<boolean> {
    const { waitTimeout, signal } = wait;
    const refusal = this.admission.refusal(key, wait);
    if (refusal !== undefined) throw refusal;
    const since = this.context.clock.now();
    const due = replyDue(since, waitTimeout, this.context.limits.commandTimeout);
    if (waitTimeout === 0) return this.look(key, due, signal);
    const waiter = new LatchWaiter(this.context);
    if (signal !== undefined) waiter.listenTo(signal, () => waiter.refused(signal.reason));
    waiter.keepAlive();
    const watch = this.watchOf(key);
    waiter.endBy(since + waitTimeout, () => watch.timedOut(waiter, due));
    watch.join(waiter);
    try {
      return await waiter.promise;
    } finally {
      watch.quit(waiter);
    }
  }

  /** The store says that a latch has opened. */
  opened(key: string, latch: string): void {
    this.seen.opened(key, latch);
    this.watches.get(key)?.opened(latch);
  }

  /** Asks the store about all latches now: it is connected again. */
  askNow(): void {
    for (const watch of this.watches.values()) watch.ask();
  }

  /** Rejects all waiters with `reason`. */
  dismissAll(reason: LockStoreError): void {
    for (const watch of [...this.watches.values()]) watch.dismissAll(reason);
  }

  /** Asks once, until `at`. */
  private async look(key: string, at: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { timers, clock } = this.context;
    const letProcessExit = clock.keepAlive();
    const isOpen = this.isOpen(key);
    const isReplied = await settledBy(timers, { at, isReply: true, signals: [signal] }, isOpen);
    letProcessExit();
    if (isReplied) return isOpen;
    signal?.throwIfAborted();
    throw unanswered(key);
  }

  private async isOpen(key: string): Promise<boolean> {
    const [seen, sent] = [this.seen.of(key), this.context.clock.now()];
    const reply = await this.read(key, seen);
    const isLost = this.seen.isLost(key, seen, reply);
    this.seen.replied(key, reply, sent);
    if (isLost) throw lost(key);
    return reply.left === 0;
  }

  /** Asks how much is left, and whether the latch `seen` has opened. */
  private read(key: string, seen?: string): Promise<LatchCount> {
    return this.admission.command(key, () => this.store.count(key, 0, seen === undefined ? [] : [seen]));
  }

  private async replicated(key: string, id: string, { min, timeout }: ReplicaTerms, done: string): Promise<void> {
    const replicas = await this.store.replicate({ key, id, min, timeout });
    if (replicas >= min) return;
    const message =
      `${replicas} of at least ${min} replicas had the new state of the latch '${key}' after ${timeout} ms; ` +
      `${done}, so do not repeat the call: getCount() tells how much is left`;
    throw new LockStoreError(message, { key, transient: true });
  }

  private watchOf(key: string): LatchWatch {
    let watch = this.watches.get(key);
    if (watch === undefined) {
      watch = new LatchWatch(key, this.context, this.store, this.watches, this.seen);
      this.watches.set(key, watch);
    }
    return watch;
  }
}
