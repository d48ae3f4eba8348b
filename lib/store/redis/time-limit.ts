import { LinkedList, type Linked } from '../../common/linked-list.js';
import { readingClock } from '../../common/reading-timer.js';

/**
 * After how many ms without an answer the client checks whether it talks to the right server, and how often it checks
 * then.
 */
const DOUBT = 1_000;
const DOUBT_AGAIN = 250;

/** An operation that has to end within the limit. */
export interface Limited extends Linked<Limited> {
  readonly until: number;
  readonly expired: () => void;
}

/**
 * One time limit for many operations. They expire in the order in which they began, so one timer serves all of them. It
 * keeps the process running while an operation is pending: the connections do not.
 */
export class TimeLimit {
  private readonly running = new LinkedList<Limited>();
  private timer: unknown;

  constructor(
    private readonly ms: number,
    private readonly clock = readingClock,
    /** Called again and again while the oldest operation has been running for `DOUBT` ms. */
    private readonly doubt = (): void => undefined,
  ) {}

  /** Calls `expired` when the limit is over, unless `end` was called before. */
  begin(expired: () => void): Limited {
    const until = this.clock.now() + this.ms;
    const limited: Limited = { until, expired, list: undefined, before: undefined, behind: undefined };
    this.running.append(limited);
    this.timer ??= this.wakeIn(Math.min(this.ms, DOUBT));
    this.clock.keepRunning?.(this.timer, true);
    return limited;
  }

  /** Returns `false` if the limit was over before. */
  end(limited: Limited): boolean {
    const hasRun = this.running.remove(limited);
    if (this.running.first === undefined) this.clock.keepRunning?.(this.timer, false);
    return hasRun;
  }

  /** Resolves to an answer that arrives within the limit. @throws what `late` makes otherwise */
  within<T>(answer: Promise<T>, late: () => Error): Promise<T> {
    return new Promise((resolve, reject) => {
      const limited = this.begin(() => reject(late()));
      void answer.then(resolve, reject).then(() => this.end(limited));
    });
  }

  /** Lets all operations expire now. */
  endAll(): void {
    for (let limited = this.running.first; limited !== undefined; limited = this.running.first) {
      this.end(limited);
      limited.expired();
    }
  }

  isOver(limited: Limited): boolean {
    return !this.running.has(limited);
  }

  /** Replies that arrived while the event loop was blocked are read first. */
  private wakeIn(ms: number): unknown {
    return this.clock.setTimer(ms, () => this.look());
  }

  private look(): void {
    this.timer = undefined;
    const now = this.clock.now();
    let { first } = this.running;
    for (; first !== undefined && first.until <= now; first = this.running.first) {
      this.running.remove(first);
      first.expired();
    }
    if (first === undefined) return;
    const silence = now + this.ms - first.until;
    if (silence >= DOUBT) this.doubt();
    const next = silence >= DOUBT ? DOUBT_AGAIN : DOUBT - silence;
    this.timer = this.wakeIn(Math.ceil(Math.min(next, first.until - now)));
    this.clock.keepRunning?.(this.timer, true);
  }
}
