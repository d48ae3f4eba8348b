import { listenToAbort } from '../common/abort.js';
import type { TimerEntry } from '../common/timer-queue.js';
import type { Clock } from '../common/clock.js';
import type { Linked } from '../common/linked-list.js';
import type { Hold, HoldTerms } from './hold.js';

/** However short a wait is, the store gets so many ms to answer its first question, or `commandTimeout` if that is shorter. */
const FIRST_ANSWER = 250;

/**
 * Until when a call that began at `since` is answered at the latest: its deadline, or the time for the first answer, which
 * is longer for a store that needs longer (`answerTime`).
 */
export function answerDue(since: number, waitTimeout: number, commandTimeout: number, answerTime = 0): number {
  return since + Math.max(waitTimeout, Math.min(commandTimeout, Math.max(FIRST_ANSWER, answerTime)));
}

/** What an acquisition may be given beside the terms of its hold. */
export interface WaitTerms {
  /** ms; 0: one try; `Infinity`: for ever. */
  readonly waitTimeout: number;
  /** Until when the store may answer at the latest. Default: `answerDue` of this wait. */
  readonly answerBy?: number;
  readonly signal: AbortSignal | undefined;
}

/** One caller who waits for a hold. */
export class Waiter implements Linked<Waiter> {
  readonly promise: Promise<Hold>;
  deadline: TimerEntry | undefined;
  /** Its time is over, and it is told so with the first answer of the store. */
  overdue = false;
  /** Where it waits, between whom. */
  list: object | undefined;
  before: Waiter | undefined;
  behind: Waiter | undefined;
  private resolve!: (hold: Hold) => void;
  private reject!: (reason: unknown) => void;
  private stopListening: (() => void) | undefined;
  private sleep: (() => void) | undefined;

  constructor(
    readonly terms: HoldTerms,
    readonly since: number,
    /** ms; 0: one try. */
    readonly waitTimeout: number,
    /** Until when the store may answer at the latest. */
    readonly answerBy: number,
  ) {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Has `onAbort` called when the caller's signal aborts. */
  listenTo(signal: AbortSignal, onAbort: () => void): void {
    this.stopListening = listenToAbort(signal, onAbort);
  }

  /** Keeps the process alive until it is served or refused: nothing else may, where no connection does. */
  keepAlive(clock: Clock): void {
    this.sleep ??= clock.keepAlive();
  }

  served(hold: Hold): void {
    this.settled();
    this.resolve(hold);
  }

  refused(reason: unknown): void {
    this.settled();
    this.reject(reason);
  }

  private settled(): void {
    this.stopListening?.();
    this.sleep?.();
  }
}
