import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../common/clock.js';
import type { Duration } from '../common/duration.js';
import { outside } from '../common/async-context.js';
import { read } from '../options/option-readers.js';

interface ManualTimer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands still until a test advances it. Like `performance.now()`, it begins at an arbitrary time. */
export class ManualClock implements Clock {
  private time = 1_000;
  private readonly timers = new Set<ManualTimer>();
  /** Resolves when every `advance` so far is over. */
  private advanced: Promise<void> = Promise.resolve();

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

  /** A clock that a test advances keeps no process alive. */
  keepAlive(): () => void {
    return () => undefined;
  }

  /**
   * Lets time pass. Each timer that falls due fires at its time, one after the other. The promises that it settles run
   * before the next timer fires. Overlapping calls add up: the second begins where the first one ends. Resolves when
   * all timers of this time have fired.
   * @param duration milliseconds, or a text such as `'5s'`
   * @throws LockConfigError if it is not a duration
   */
  advance(duration: Duration): Promise<void> {
    const ms = read.duration('advance()', duration);
    this.advanced = this.advanced.then(() => this.pass(ms));
    return this.advanced;
  }

  private async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    await setImmediate();
    for (let timer = this.earliest(end); timer !== undefined; timer = this.earliest(end)) {
      this.time = Math.max(this.time, timer.at);
      this.timers.delete(timer);
      outside(timer.callback);
      await setImmediate();
    }
    this.time = end;
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
