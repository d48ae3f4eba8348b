import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../common/clock.js';
import { outside } from '../common/outside.js';

interface ManualTimer {
  readonly at: number;
  readonly callback: () => void;
}

/** Time that stands still until a test lets it go on. It begins somewhere, as `performance.now()` does. */
export class ManualClock implements Clock {
  private time = 1_000;
  private readonly timers = new Set<ManualTimer>();

  now(): number {
    return this.time;
  }

  setTimer(delay: number, callback: () => void): unknown {
    const timer: ManualTimer = { at: this.time + delay, callback };
    this.timers.add(timer);
    return timer;
  }

  clearTimer(timer: unknown): void {
    this.timers.delete(timer as ManualTimer);
  }

  /** Time that a test moves keeps nothing alive. */
  stayAwake(): () => void {
    return () => undefined;
  }

  /**
   * Lets so many milliseconds pass: every timer that falls due is called at its time, one after the other, and what it
   * brings about by promises happens before the next one. Resolves when all that has happened.
   */
  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    await setImmediate();
    for (let timer = this.earliest(end); timer !== undefined; timer = this.earliest(end)) {
      this.time = Math.max(this.time, timer.at);
      this.timers.delete(timer);
      outside(timer.callback);
      await setImmediate();
    }
    this.time = Math.max(this.time, end);
    await setImmediate();
  }

  private earliest(end: number): ManualTimer | undefined {
    let earliest: ManualTimer | undefined;
    for (const timer of this.timers) {
      if (timer.at <= end && (earliest === undefined || timer.at < earliest.at)) earliest = timer;
    }
    return earliest;
  }
}
