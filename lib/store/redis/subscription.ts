import { outside } from '../../common/outside.js';

/** A subscription on which grants are heard, from the confirmation by the server on. */
export interface Subscription {
  /** When it was confirmed, by `performance.now()`. */
  readonly since: number;
  /** What the server has answered shows that nothing is heard on it: it is left, and made anew. Not if that has been done already. */
  doubt(why: string): void;
}

/** For how many ms a subscription that was made anew for a doubt stands at least, and at most after several. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;
/** After how many ms without a doubt the first pause is the shortest again. */
const CALM = 60_000;

/**
 * Says when a subscription that is in doubt is to be left: at once, unless the last one was left for that just before.
 * Where subscribing anew does not help (a proxy that parts commands and subscriptions, a slot on its way), it is tried
 * less and less often.
 */
export class Doubts {
  private last = -Infinity;
  private pause = FIRST_PAUSE;
  private timer: NodeJS.Timeout | undefined;

  /** Whether something is in doubt that has not been left yet. */
  get isPending(): boolean {
    return this.timer !== undefined;
  }

  /** Has `leave` called, once. */
  raise(leave: () => void): void {
    if (this.isPending) return;
    const now = performance.now();
    const due = this.last + this.pause;
    if (now >= due) return this.act(leave);
    this.timer = outside(() => setTimeout(() => this.act(leave), due - now).unref());
  }

  /** What was in doubt has ended by itself. */
  drop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private act(leave: () => void): void {
    this.drop();
    const now = performance.now();
    this.pause = now - this.last > CALM ? FIRST_PAUSE : Math.min(2 * this.pause, LONGEST_PAUSE);
    this.last = now;
    leave();
  }
}
