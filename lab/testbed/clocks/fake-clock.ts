import type { Clock } from '../../../lib/common/clock.js';

interface FakeTimer {
  readonly at: number;
  readonly callback: () => void;
}

/** Time in the hands of the test. It begins somewhere, as `performance.now()` does. */
export class FakeClock implements Clock {
  private time = 1_000;
  readonly timers = new Set<FakeTimer>();

  now(): number {
    return this.time;
  }

  setTimer(delay: number, callback: () => void): FakeTimer {
    const timer = { at: this.time + delay, callback };
    this.timers.add(timer);
    return timer;
  }

  clearTimer(timer: unknown): void {
    this.timers.delete(timer as FakeTimer);
  }

  keepAlive(): () => void {
    return () => undefined;
  }

  /** Lets time pass, and has every timer that falls due called at its time. */
  advance(ms: number): void {
    const end = this.time + ms;
    for (let timer = this.earliest(end); timer !== undefined; timer = this.earliest(end)) {
      this.time = Math.max(this.time, timer.at);
      this.timers.delete(timer);
      timer.callback();
    }
    this.time = Math.max(this.time, end);
  }

  /** As `advance`, in steps of 1 ms at most, with everything that promises bring about in between. */
  async pass(ms: number): Promise<void> {
    await settled();
    for (let left = ms; left > 0; left -= 1) {
      this.advance(Math.min(left, 1));
      await settled();
    }
  }

  /** Time passes and no timer is called: a stalled process, or a callback that computes. */
  stall(ms: number): void {
    this.time += ms;
  }

  /** When the next timer falls due; `Infinity`: there is none. */
  get next(): number {
    let next = Infinity;
    for (const { at } of this.timers) next = Math.min(next, at);
    return next;
  }

  private earliest(end: number): FakeTimer | undefined {
    let earliest: FakeTimer | undefined;
    for (const timer of this.timers) if (timer.at <= end && !(earliest && earliest.at <= timer.at)) earliest = timer;
    return earliest;
  }
}

/** Resolves when all that promises have to do is done. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
