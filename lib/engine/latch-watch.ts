import { LatchLostError, LockStoreError } from '../errors/index.js';
import type { LatchCount, LatchStore } from '../store/latch-store.js';
import type { EngineContext } from './engine-context.js';
import { aboutKey } from './refusals.js';
import type { SeenLatches } from './seen-latches.js';
import { StorePoll } from './store-poll.js';
import { PendingCall } from './waiter.js';

/** A waiter asks again after this many ms, and up to a third more. That finds a message that got lost. */
const PERIOD = 3_000;

/** A caller that waits for a latch to open. */
export class LatchWaiter extends PendingCall<boolean> {
  /** How many requests had been sent when it joined. Replies to those say nothing about the latch that it waits for. */
  since = 0;
  /** Whether it has seen the latch of its watch closed. */
  hasSeen = false;
}

/**
 * The waiters of this client for one latch. However many they are, they share one registration in the store and one
 * request: at once when a waiter joins, and then each period.
 */
export class LatchWatch extends StorePoll<LatchCount> {
  private readonly waiters = new Set<LatchWaiter>();
  private requests = 0;
  /** The latch that the waiters have seen closed. */
  private latch: string | undefined;
  /** ms from the latest request to the next. */
  private period = PERIOD;
  /** The reply that is under way may not know of what has happened since its request. */
  private outdated = false;
  /** The latch that this client had seen closed when the latest request was sent. */
  private seenBefore: string | undefined;

  constructor(
    private readonly key: string,
    context: EngineContext,
    private readonly store: LatchStore,
    /** The table in which this watch stands while it has waiters. */
    private readonly watches: Map<string, LatchWatch>,
    private readonly seen: SeenLatches,
  ) {
    super(context, context.limits.commandTimeout);
  }

  join(waiter: LatchWaiter): void {
    waiter.since = this.requests;
    this.waiters.add(waiter);
    this.ask();
  }

  /** Removes a waiter. */
  quit(waiter: LatchWaiter): void {
    if (!this.waiters.delete(waiter) || this.waiters.size > 0) return;
    this.stop();
    this.watches.delete(this.key);
  }

  /** Rejects all waiters with `error`. */
  dismissAll(error: LockStoreError): void {
    for (const waiter of [...this.waiters]) {
      this.quit(waiter);
      waiter.refused(error);
    }
  }

  /** The time of a waiter is over. It waits until `due` for the first reply, however short its time is. */
  timedOut(waiter: LatchWaiter, due: number): void {
    const { error } = this;
    const isUnanswered = !waiter.hasSeen && error === undefined;
    if (isUnanswered && waiter.outlast(due)) return;
    if (isUnanswered) waiter.refused(unanswered(this.key));
    else if (error !== undefined) waiter.refused(error);
    else waiter.served(false);
  }

  /** The store says that a latch has opened. */
  opened(latch: string): void {
    // The reply that is under way may be older than the message.
    if (this.isAsking) this.outdated = true;
    if (this.latch !== latch) return;
    for (const waiter of [...this.waiters]) if (waiter.hasSeen) this.finish(waiter, true);
  }

  /** Asks the store now, or as soon as it has replied to the request that is under way. */
  override ask(): void {
    if (this.isAsking) {
      this.outdated = true;
      return;
    }
    this.pause();
    super.ask();
  }

  protected override send(): Promise<LatchCount> {
    const { random, limits } = this.context;
    this.requests += 1;
    this.outdated = false;
    this.period = Math.ceil(PERIOD * (1 + random() / 3));
    this.seenBefore = this.seen.of(this.key);
    const seen = [...new Set([this.latch, this.seenBefore])].filter((latch) => latch !== undefined);
    return this.store.count(this.key, Math.ceil(2 * this.period + limits.commandTimeout), seen);
  }

  protected override replied(reply: LatchCount, sent: number): void {
    const { left, latch, opened } = reply;
    const isLost = this.seen.isLost(this.key, this.seenBefore, reply);
    this.seen.replied(this.key, reply, sent);
    for (const waiter of [...this.waiters]) {
      if (waiter.since >= this.requests) continue;
      if (!waiter.hasSeen) {
        if (isLost) this.refuse(waiter);
        else if (left === 0) this.finish(waiter, true);
        else if (waiter.overdue) this.finish(waiter, false);
        else waiter.hasSeen = true;
      } else if (opened.includes(this.latch!)) {
        this.finish(waiter, true);
      } else if (this.latch !== latch) {
        this.refuse(waiter);
      }
    }
    // Waiters that have seen another one are gone by now.
    this.latch = latch;
    if (this.waiters.size === 0) return;
    if (this.outdated) this.ask();
    else this.askAt(this.context.clock.now() + this.period);
  }

  protected override failed(error: LockStoreError): void {
    this.dismissAll(aboutKey(this.key, error));
  }

  private finish(waiter: LatchWaiter, isOpen: boolean): void {
    this.quit(waiter);
    waiter.served(isOpen);
  }

  private refuse(waiter: LatchWaiter): void {
    this.quit(waiter);
    waiter.refused(lost(this.key));
  }
}

/** The latch is gone, and the store does not know that it has opened. */
export function lost(key: string): LatchLostError {
  return new LatchLostError(
    `the latch '${key}' ended without opening: no call counted it down within its expire, it was deleted, ` +
      'or Redis has lost its data. Check which work is done, and set the latch again with trySetCount for the rest.',
    { key },
  );
}

/** The store has not replied in time. */
export function unanswered(key: string): LockStoreError {
  return new LockStoreError(`Redis has not answered yet whether the latch '${key}' is open`, { key, transient: true });
}
