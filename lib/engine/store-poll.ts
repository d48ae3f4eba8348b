import type { TimerEntry } from '../common/timer-queue.js';
import type { LockStoreError } from '../errors/index.js';
import type { EngineContext } from './engine-context.js';

/** After a failure the store is asked again after this many ms, and up to twice as many. */
const RETRY = 50;

/** What limits the requests of very many polls together, see `Tickets`. */
export interface RequestBudget {
  /** Why a request is of no use now, although the store can be reached. */
  readonly trouble: LockStoreError | undefined;
  /** By how many times later a request is repeated after a failure. */
  readonly patience: number;
  /** A request is under way. */
  sent(): void;
  /** A reply has come at `now`, or the request has failed (`undefined`), also behind `stop`. */
  settled(now: number | undefined): void;
}

/** A request to the store that is repeated: when it is due, and after a failure, for a limited time. */
export abstract class StorePoll<Reply> implements TimerEntry {
  /** The failure of the latest request, if the store has not replied since. */
  error: LockStoreError | undefined;
  /** The store's epoch at the first request; `undefined`: nothing has been sent. */
  protected firstEpoch: number | undefined;
  /** It asks nothing any more. */
  protected isOver = false;
  /** When it asks next. */
  at = 0;
  index = -1;
  private underWay = 0;
  private failingSince: number | undefined;
  private countsFrom = 0;
  /** While a request is to be repeated, the process keeps running: without a connection nothing else may keep it. */
  private letProcessExit: (() => void) | undefined;

  constructor(
    protected readonly context: EngineContext,
    /** For how many ms failures are retried; 0: not at all. */
    private readonly retriesFor: number,
    private readonly budget?: RequestBudget,
  ) {}

  /** Sends the request to the store. */
  protected abstract send(): Promise<Reply>;
  /** The store has replied to the request of `sent`, in `epoch`; also behind `stop`. */
  protected abstract replied(reply: Reply, sent: number, epoch: number): void;
  /** The store has failed for as long as failures are retried, or in a way that does not pass. The poll has ended. */
  protected abstract failed(error: LockStoreError): void;
  /** The store has not replied to the request of `sent`. It may be sent again. */
  protected faltered?(error: LockStoreError, sent: number): void;

  /** It is time to ask. */
  run(): void {
    this.ask();
  }

  /** Asks the store now. */
  ask(): void {
    const { store, clock } = this.context;
    const sent = clock.now();
    const { epoch } = store;
    const trouble = store.unreachable ?? this.budget?.trouble;
    if (trouble === undefined) this.firstEpoch ??= epoch;
    this.expect(trouble === undefined ? this.send() : Promise.reject(trouble), sent, epoch);
  }

  /** The request was sent at `sent`, alone or with another command; `pending`: its reply. */
  await(pending: Promise<Reply>, sent: number, epoch: number): void {
    this.firstEpoch ??= epoch;
    this.expect(pending, sent, epoch);
  }

  /** Whether a reply is under way. */
  protected get isAsking(): boolean {
    return this.underWay > 0;
  }

  /** Asks at `at` in place of the time that was set before. */
  protected askAt(at: number): void {
    this.context.timers.move(this, at);
  }

  /** Asks at `at`, unless it asks earlier anyway. */
  protected askBy(at: number): void {
    if (this.index < 0 || at < this.at) this.askAt(at);
  }

  /** Replies to requests that were sent before now do not count any more. */
  protected ignoreEarlier(): void {
    this.countsFrom = this.context.clock.now();
  }

  /** Cancels the next request. */
  protected pause(): void {
    this.context.timers.cancel(this);
    this.retriesNoMore();
  }

  /** Asks nothing any more. Replies that are under way are still passed on, failures are not. */
  protected stop(): void {
    this.isOver = true;
    this.pause();
  }

  private expect(pending: Promise<Reply>, sent: number, epoch: number): void {
    this.underWay += 1;
    this.budget?.sent();
    pending.then(
      (reply) => {
        this.underWay -= 1;
        this.budget?.settled(this.context.clock.now());
        if (!this.isOver) {
          if (sent < this.countsFrom) return;
          this.failingSince = undefined;
          this.error = undefined;
          this.retriesNoMore();
        }
        this.replied(reply, sent, epoch);
      },
      (error: LockStoreError) => {
        this.underWay -= 1;
        this.budget?.settled(undefined);
        if (!this.isOver) this.retry(error, sent);
      },
    );
  }

  private retry(error: LockStoreError, sent: number): void {
    this.failingSince ??= sent;
    this.error = error;
    this.faltered?.(error, sent);
    const now = this.context.clock.now();
    // Only if the next request comes within the time: on a dead connection each of them takes all of it.
    const last = this.failingSince + this.retriesFor - RETRY;
    if (error.transient && now < last) {
      const soonest = RETRY * (1 + this.context.random());
      this.letProcessExit ??= this.context.clock.keepAlive();
      this.askAt(now + Math.max(soonest, Math.min(soonest * (this.budget?.patience ?? 1), last - now)));
      return;
    }
    this.retriesNoMore();
    this.failed(error);
  }

  private retriesNoMore(): void {
    this.letProcessExit?.();
    this.letProcessExit = undefined;
  }
}
