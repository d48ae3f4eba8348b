import { isScheduled, type TimerEntry } from '../common/timer-queue.js';
import type { LockStoreError } from '../errors/index.js';
import type { EngineContext } from './engine-context.js';

/** After a failure the store is asked again after this many ms, and up to twice as many. */
const RETRY = 50;

/** A question that is asked again and again. */
export interface PolledQuestion<Reply> {
  /** It is time to ask. If left out, the question is asked at once. */
  due?(): void;
  /** Sends the question to the store. */
  send(): Promise<Reply>;
  /** The store has answered the question of `sent`, in `epoch`; also behind `stop`. */
  answered(reply: Reply, sent: number, epoch: number): void;
  /** The store has not answered the question of `sent`. It may be sent again. */
  faltered?(error: LockStoreError, sent: number): void;
  /** The store has failed for as long as failures are retried, or in a way that does not pass. The poll has ended. */
  failed(error: LockStoreError): void;
}

/** What limits the questions of very many polls together, see `Tickets`. */
export interface QuestionBudget {
  /** By how many times later a question is asked again after a failure. */
  readonly patience: number;
  /** A question is under way. */
  sent(): void;
  /** A question was answered at `now`, or has failed (`undefined`), also behind `stop`. */
  settled(now: number | undefined): void;
}

/** Asks the store one question again and again: when it is due, and after a failure, for a limited time. */
export class StorePoll<Reply> {
  private underWay = 0;
  private next: TimerEntry | undefined;
  private stopped = false;
  private failingSince: number | undefined;
  private lastError: LockStoreError | undefined;
  private epochAtFirst: number | undefined;
  private countsFrom = 0;
  /** While a question is to be asked again, the process keeps running: without a connection nothing else may keep it. */
  private letProcessExit: (() => void) | undefined;

  constructor(
    private readonly context: EngineContext,
    private readonly question: PolledQuestion<Reply>,
    /** For how many ms failures are retried; 0: not at all. */
    private readonly retriesFor: number,
    private readonly budget?: QuestionBudget,
  ) {}

  /** Whether an answer is under way. */
  get isAsking(): boolean {
    return this.underWay > 0;
  }

  /** The failure of the latest question, if the store has not answered since. */
  get error(): LockStoreError | undefined {
    return this.lastError;
  }

  /** The store's epoch at the first question; `undefined`: nothing has been sent. */
  get firstEpoch(): number | undefined {
    return this.epochAtFirst;
  }

  /** Asks the store now. */
  ask(): void {
    const { store, clock } = this.context;
    const sent = clock.now();
    const { epoch, unreachable } = store;
    if (unreachable === undefined) this.epochAtFirst ??= epoch;
    this.expect(unreachable === undefined ? this.question.send() : Promise.reject(unreachable), sent, epoch);
  }

  /** The question was sent at `sent`, alone or with another command; `answer` is its answer. */
  await(answer: Promise<Reply>, sent: number, epoch: number): void {
    this.epochAtFirst ??= epoch;
    this.expect(answer, sent, epoch);
  }

  /** Asks at `at` in place of the time that was set before. */
  askAt(at: number): void {
    const { timers } = this.context;
    if (this.next === undefined) this.next = timers.add(at, () => this.due());
    else timers.move(this.next, at);
  }

  /** Asks at `at`, unless it asks earlier anyway. */
  askBy(at: number): void {
    if (this.next === undefined || !isScheduled(this.next) || at < this.next.at) this.askAt(at);
  }

  /** Answers to questions that were sent before now do not count any more. */
  ignoreEarlier(): void {
    this.countsFrom = this.context.clock.now();
  }

  /** Cancels the next question. */
  pause(): void {
    this.context.timers.cancel(this.next);
    this.retriesNoMore();
  }

  /** Asks nothing any more. Answers that are under way are still passed on, failures are not. */
  stop(): void {
    this.stopped = true;
    this.pause();
  }

  private due(): void {
    if (this.question.due === undefined) this.ask();
    else this.question.due();
  }

  private expect(answer: Promise<Reply>, sent: number, epoch: number): void {
    this.underWay += 1;
    this.budget?.sent();
    answer.then(
      (reply) => {
        this.underWay -= 1;
        this.budget?.settled(this.context.clock.now());
        if (!this.stopped) {
          if (sent < this.countsFrom) return;
          this.failingSince = undefined;
          this.lastError = undefined;
          this.retriesNoMore();
        }
        this.question.answered(reply, sent, epoch);
      },
      (error: LockStoreError) => {
        this.underWay -= 1;
        this.budget?.settled(undefined);
        if (!this.stopped) this.failed(error, sent);
      },
    );
  }

  private failed(error: LockStoreError, sent: number): void {
    this.failingSince ??= sent;
    this.lastError = error;
    this.question.faltered?.(error, sent);
    const now = this.context.clock.now();
    // Only if the next question comes within the time: on a dead connection each of them takes all of it.
    const last = this.failingSince + this.retriesFor - RETRY;
    if (error.transient && now < last) {
      const soonest = RETRY * (1 + this.context.random());
      this.letProcessExit ??= this.context.clock.keepAlive();
      this.askAt(now + Math.max(soonest, Math.min(soonest * (this.budget?.patience ?? 1), last - now)));
      return;
    }
    this.retriesNoMore();
    this.question.failed(error);
  }

  private retriesNoMore(): void {
    this.letProcessExit?.();
    this.letProcessExit = undefined;
  }
}
