import { LinkedList, type Linked } from '../../common/linked-list.js';
import { setReadingTimer, type ReadingTimer } from '../../common/reading-timer.js';

/** Something that is to end within the limit. */
export class Limited implements Linked<Limited> {
  list: object | undefined;
  before: Limited | undefined;
  behind: Limited | undefined;

  constructor(
    readonly until: number,
    readonly expired: () => void,
  ) {}
}

/** One time limit for many things. They run out in the order in which they began, so one timer does for all of them. */
export class TimeLimit {
  private readonly running = new LinkedList<Limited>();
  private timer: ReadingTimer | undefined;

  constructor(private readonly ms: number) {}

  /** Nothing is to end. */
  get isIdle(): boolean {
    return this.running.first === undefined;
  }

  /** For how many ms what began first has been running. */
  get longest(): number {
    const { first } = this.running;
    return first === undefined ? 0 : performance.now() + this.ms - first.until;
  }

  /** Has `expired` called when the limit is over, unless `end` was called before. */
  begin(expired: () => void): Limited {
    const limited = new Limited(performance.now() + this.ms, expired);
    this.running.append(limited);
    this.timer ??= this.wakeIn(this.ms);
    return limited;
  }

  end(limited: Limited): void {
    this.running.remove(limited);
  }

  /** What has arrived while the process was held up is read first. */
  private wakeIn(ms: number): ReadingTimer {
    return setReadingTimer(ms, () => this.expire());
  }

  private expire(): void {
    this.timer = undefined;
    const now = performance.now();
    for (let limited = this.running.first; limited !== undefined; limited = this.running.first) {
      if (limited.until > now) {
        this.timer = this.wakeIn(Math.ceil(limited.until - now));
        return;
      }
      this.running.remove(limited);
      limited.expired();
    }
  }
}
