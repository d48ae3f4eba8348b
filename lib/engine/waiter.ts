import { listenToAbort } from '../common/abort.js';
import { settledBy } from '../common/settle.js';
import type { Linked } from '../common/linked-list.js';
import { READING_TIME, type TimerEntry } from '../common/timer-queue.js';
import type { EngineContext } from './engine-context.js';
import type { Hold, HoldTerms } from './hold.js';

/** However short a wait is, the store gets so many ms for its first reply, or `commandTimeout` if that is shorter. */
const FIRST_REPLY = 250;
/** A caller that waits gets its reply so many ms after its deadline at the latest. */
const AFTER_DEADLINE = 290;

/**
 * Until when a call that began at `since` has its reply: its deadline, or the time for the first reply. A store that needs
 * longer says so (`LockStore.replyTime`): one try gets that time, and a wait only as far as it ends soon after its deadline.
 */
export function replyDue(since: number, waitTimeout: number, commandTimeout: number, needed = 0): number {
  const longest = waitTimeout === 0 ? needed : Math.min(needed, waitTimeout + AFTER_DEADLINE);
  return since + Math.max(waitTimeout, replyTime(commandTimeout, longest));
}

/**
 * Until when the next request of a call with several keys has its reply, if the store is asked for one key after another.
 * Each key that it grants gives it the time for the next one, as far as the whole call may take: one try at most a
 * `commandTimeout`.
 */
export function nextReplyDue(
  { since, now, replyBy }: { readonly since: number; readonly now: number; readonly replyBy: number },
  waitTimeout: number,
  commandTimeout: number,
  needed = 0,
): number {
  const isOneTry = waitTimeout === 0;
  const next = now + (isOneTry ? replyTime(commandTimeout, needed) : needed);
  const latest = since + (isOneTry ? commandTimeout : waitTimeout + AFTER_DEADLINE);
  return Math.max(replyBy, Math.min(next, latest));
}

/** For how many ms a reply of the store is awaited at least, however short the caller's time is. */
export function replyTime(commandTimeout: number, needed = 0): number {
  return Math.min(commandTimeout, Math.max(FIRST_REPLY, needed));
}

/**
 * Waits for replies to releases, no longer than a call may take behind its deadline, and at most until `by`. They continue
 * without it.
 */
export async function awaitReplies(
  { timers, clock, limits }: Pick<EngineContext, 'timers' | 'clock' | 'limits'>,
  replies: Promise<unknown>,
  by = Infinity,
): Promise<void> {
  const at = Math.min(by, clock.now() + replyTime(limits.commandTimeout));
  await settledBy(timers, { at, isReply: true }, replies);
}

/** How a caller waits. */
export interface WaitTerms {
  /** ms; 0: one try; `Infinity`: without limit. */
  readonly waitTimeout: number;
  /** Until when the store may reply. Default: `replyDue` of this wait. */
  readonly replyBy?: number;
  readonly signal: AbortSignal | undefined;
}

/** A call that waits for a result: its promise, its deadline and its signal. */
export class PendingCall<Result> {
  readonly promise: Promise<Result>;
  /** The deadline is over, and the call ends with the first reply of the store. */
  overdue = false;
  private resolve!: (result: Result) => void;
  private reject!: (reason: unknown) => void;
  private deadline: TimerEntry | undefined;
  private stopListening: (() => void) | undefined;
  private letProcessExit: (() => void) | undefined;
  private isOver = false;

  constructor(private readonly context: Pick<EngineContext, 'clock' | 'timers'>) {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Calls `onAbort` if the caller's signal aborts before the call ends. */
  listenTo(signal: AbortSignal, onAbort: () => void): void {
    this.stopListening = listenToAbort(signal, onAbort);
  }

  /** Calls `onDeadline` at `at`, unless the call ends before, or has ended already. */
  endBy(at: number, onDeadline: () => void): void {
    if (!this.isOver) this.deadline = this.context.timers.add(at, onDeadline);
  }

  /** The deadline is over. Returns whether the call waits until `replyBy` for the first reply: only once. */
  outlast(replyBy: number): boolean {
    if (this.overdue) return false;
    this.overdue = true;
    this.moveDeadline(Math.max(replyBy, this.context.clock.now() + READING_TIME));
    return true;
  }

  /** Sets another deadline for a call that has not ended. */
  moveDeadline(at: number): void {
    if (this.deadline !== undefined) this.context.timers.move(this.deadline, at);
  }

  /** Keeps the process alive until the call ends. Without a connection nothing else may. */
  keepAlive(): void {
    this.letProcessExit ??= this.context.clock.keepAlive();
  }

  served(result: Result): void {
    this.end();
    this.resolve(result);
  }

  refused(reason: unknown): void {
    this.end();
    this.reject(reason);
  }

  private end(): void {
    this.isOver = true;
    this.context.timers.cancel(this.deadline);
    this.deadline = undefined;
    this.stopListening?.();
    this.letProcessExit?.();
  }
}

/** A caller that waits for a hold. */
export class Waiter extends PendingCall<Hold> implements Linked<Waiter> {
  /** The queue, and the neighbours in it. */
  list: object | undefined;
  before: Waiter | undefined;
  behind: Waiter | undefined;
  /** Whether it has been reported that another holder keeps it from the key. */
  isContended = false;
  /** Until when the store may reply. */
  replyBy = Infinity;

  constructor(
    context: Pick<EngineContext, 'clock' | 'timers'>,
    readonly key: string,
    readonly terms: HoldTerms,
    readonly since: number,
    /** ms; 0: one try. */
    readonly waitTimeout: number,
  ) {
    super(context);
  }
}
