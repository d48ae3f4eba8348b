import type { Clock } from '../../common/clock.js';

/** How many ms from now on a wait lasts at most, if it has lasted for so many; `undefined`: there is no limit yet. */
export type Grace = (ms: number) => number | undefined;

/** If a majority has replied and the outcome is still open, slow masters get at least this many ms more. */
export const SHORTEST_GRACE = 10;
const LONGEST_GRACE = 100;

/** The slower the majority was, the more time the others get. */
export const graceAfter = (ms: number): number => Math.min(Math.max(2 * ms, SHORTEST_GRACE), LONGEST_GRACE);

/** Wakes the one function that waits for it. */
export class Bell {
  private wake: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  /** Something has changed that the waiting function should look at. */
  ring(): void {
    this.wake?.();
  }

  /** Resolves at the next ring, or at `time`. */
  rung(time: number): Promise<undefined> {
    const { clock } = this;
    return new Promise((resolve) => {
      const woken = (): void => {
        clock.clearTimer(timer);
        this.wake = undefined;
        resolve(undefined);
      };
      const timer = time === Infinity ? undefined : clock.setTimer(Math.max(1, Math.ceil(time - clock.now())), woken);
      this.wake = woken;
    });
  }

  /** Looks now and at each ring, until there is an outcome. With `last` set, the time is over. */
  async until<R>(look: (last: boolean) => R | undefined, grace: Grace): Promise<R> {
    const since = this.clock.now();
    let end = Infinity;
    for (;;) {
      const now = this.clock.now();
      const outcome = look(now >= end);
      if (outcome !== undefined) return outcome;
      if (end === Infinity) end = now + (grace(now - since) ?? Infinity);
      await this.rung(end);
    }
  }
}
