import type { TimerQueue, TimerEntry } from '../common/timer-queue.js';
import type { Clock } from '../common/clock.js';
import { LatchLostError, LockStoreError } from '../errors/index.js';
import type { LatchCount, LatchStore } from '../store/latch-store.js';
import type { LockStore } from '../store/lock-store.js';

/** What latches need from their surroundings. */
export interface LatchEnvironment {
  readonly store: LockStore;
  readonly clock: Clock;
  readonly timers: TimerQueue;
  readonly random: () => number;
  /** ms */
  readonly commandTimeout: number;
  /** An id that nobody has had. */
  nextId(): string;
}

/** A waiter asks again after this many ms, and up to a third more: what finds out a message that got lost. */
const PERIOD = 3_000;
/** After a failure of the store it asks again after this many ms, and up to twice as many. */
const RETRY = 50;

/** One caller who waits for a latch to open. */
export class LatchWaiter {
  readonly promise: Promise<boolean>;
  /** How many questions had been sent when it came: answers to those say nothing of the latch that it waits for. */
  since = 0;
  /** The latch that it has seen closed. */
  latch: string | undefined;
  /** Its time is over, and it is told so with the first answer of the store. */
  overdue = false;
  private resolve!: (isOpen: boolean) => void;
  private reject!: (reason: unknown) => void;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  answered(isOpen: boolean): void {
    this.resolve(isOpen);
  }

  refused(reason: unknown): void {
    this.reject(reason);
  }
}

/**
 * The waiters of this client for one key. They share one question, at once when somebody comes and each period after
 * that, and one registration in the store, however many they are.
 */
export class LatchWatch {
  private readonly waiters = new Set<LatchWaiter>();
  private questions = 0;
  private asking = false;
  /** Something has happened since the question under way was sent that its answer may not know. */
  private outdated = false;
  private askAgain: TimerEntry | undefined;
  private failingSince: number | undefined;
  private lastError: LockStoreError | undefined;

  constructor(
    private readonly key: string,
    private readonly latches: LatchStore,
    private readonly environment: LatchEnvironment,
    /** Nobody waits any more. */
    private readonly emptied: () => void,
  ) {}

  join(waiter: LatchWaiter): void {
    waiter.since = this.questions;
    this.waiters.add(waiter);
    this.ask();
  }

  /** A waiter gives up. */
  quit(waiter: LatchWaiter): void {
    if (!this.waiters.delete(waiter) || this.waiters.size > 0) return;
    this.environment.timers.cancel(this.askAgain);
    this.emptied();
  }

  /** Everybody who waits is told why it is in vain. */
  dismissAll(error: LockStoreError): void {
    for (const waiter of [...this.waiters]) {
      this.quit(waiter);
      waiter.refused(error);
    }
  }

  /** Why `waiter` cannot be told that the latch is closed; `undefined`: it is. */
  troubleOf({ latch }: LatchWaiter): LockStoreError | undefined {
    return this.lastError === undefined && latch === undefined ? unanswered(this.key) : this.lastError;
  }

  /** The time of `waiter` is over. Answers whether it is to wait for the first answer, once; it is told as soon as that comes. */
  awaitsAnswer(waiter: LatchWaiter): boolean {
    if (waiter.overdue || waiter.latch !== undefined || this.lastError !== undefined) return false;
    waiter.overdue = true;
    return true;
  }

  /** The store told of its own accord that a latch has come to 0. */
  opened(latch: string): void {
    // What is under way may have been answered before that.
    if (this.asking) this.outdated = true;
    for (const waiter of [...this.waiters]) if (waiter.latch === latch) this.release(waiter);
  }

  /** Asks the store now, or as soon as it has answered the question under way. */
  ask(): void {
    if (this.asking) {
      this.outdated = true;
      return;
    }
    const { timers, clock, store, commandTimeout, random } = this.environment;
    timers.cancel(this.askAgain);
    const sent = clock.now();
    const period = Math.ceil(PERIOD * (1 + random() / 3));
    const question = ++this.questions;
    if (store.unreachable !== undefined) {
      this.unanswered(store.unreachable, sent);
      return;
    }
    this.asking = true;
    this.outdated = false;
    const seen = [...new Set([...this.waiters].flatMap((waiter) => waiter.latch ?? []))];
    this.latches.count(this.key, Math.ceil(2 * period + commandTimeout), seen).then(
      (count) => this.answered(count, question, period),
      (error: LockStoreError) => {
        this.asking = false;
        this.unanswered(error, sent);
      },
    );
  }

  private answered({ left, latch, opened }: LatchCount, question: number, period: number): void {
    this.asking = false;
    this.failingSince = undefined;
    this.lastError = undefined;
    for (const waiter of [...this.waiters]) {
      if (waiter.since >= question) continue;
      if (waiter.latch === undefined) {
        if (left === 0) this.release(waiter);
        else if (waiter.overdue) this.finish(waiter, false);
        else waiter.latch = latch;
      } else if (opened.includes(waiter.latch)) {
        this.release(waiter);
      } else if (waiter.latch !== latch) {
        this.quit(waiter);
        waiter.refused(this.lost());
      }
    }
    if (this.waiters.size === 0) return;
    if (this.outdated) this.ask();
    else this.askAt(this.environment.clock.now() + period);
  }

  private unanswered(error: LockStoreError, sent: number): void {
    if (this.waiters.size === 0) return;
    const { clock, commandTimeout, random } = this.environment;
    this.failingSince ??= sent;
    this.lastError = error;
    const now = clock.now();
    // Only if the next question comes within the time: on a dead connection each of them takes all of it.
    if (error.transient && now + RETRY - this.failingSince < commandTimeout) {
      this.askAt(now + RETRY * (1 + random()));
      return;
    }
    this.dismissAll(error);
  }

  private release(waiter: LatchWaiter): void {
    this.finish(waiter, true);
  }

  private finish(waiter: LatchWaiter, isOpen: boolean): void {
    this.quit(waiter);
    waiter.answered(isOpen);
  }

  /** It is gone, and nothing says that it has come to 0. */
  private lost(): LatchLostError {
    return new LatchLostError(
      `the latch '${this.key}' is gone, and has not opened: nobody counted it down within its expire, or Redis has lost ` +
        'its data. Look whether the work is done, and set it again with trySetCount for what is left.',
      { key: this.key },
    );
  }

  private askAt(at: number): void {
    const { timers } = this.environment;
    if (this.askAgain === undefined) this.askAgain = timers.add(at, () => this.ask());
    else timers.move(this.askAgain, at);
  }
}

/** Nothing has been heard of the latch in time. */
export function unanswered(key: string): LockStoreError {
  return new LockStoreError(`Redis has not answered yet whether the latch '${key}' is open`, { key, transient: true });
}
