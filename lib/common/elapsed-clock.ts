import { SuspensionDetector, type MachineTime } from './suspension-detector.js';

/**
 * ms between two looks at the clock while a timer is set. On some platforms timers of the runtime do not count suspensions,
 * so a longer timer could be late by the time for which the machine was suspended.
 */
const LOOK_EVERY = 1_000;

/**
 * ms of running time for which a look at the wall clock stays valid, since the engine reads its clock ten times within a few
 * microseconds. A process can be suspended right after its look anyway.
 */
const GOOD_FOR = 0.02;

/** The sources of time of a clock. */
export interface ElapsedClockParts extends Omit<MachineTime, 'uptime'> {
  /** `undefined`: the monotonic clock counts suspensions itself. */
  readonly uptime: MachineTime['uptime'] | undefined;
  /** Calls back once after `delay` ms. It need not count suspensions. */
  setTimer(delay: number, callback: () => void): unknown;
  clearTimer(timer: unknown): void;
}

interface Timer {
  readonly due: number;
  readonly callback: () => void;
  part: unknown;
}

/** A clock that counts the elapsed time, including suspensions of the machine. */
export class ElapsedClock {
  private readonly suspensions: SuspensionDetector | undefined;
  private readonly timers = new Set<Timer>();
  private lookedAt = -Infinity;

  constructor(private readonly parts: ElapsedClockParts) {
    const { uptime } = parts;
    if (uptime !== undefined) this.suspensions = new SuspensionDetector({ ...parts, uptime });
  }

  /** ms of noticed suspensions during which the monotonic clock stood still. */
  get suspended(): number {
    return this.suspensions?.suspended ?? 0;
  }

  now(): number {
    const { suspensions } = this;
    const monotonic = this.parts.monotonic();
    if (suspensions === undefined) return monotonic;
    const age = monotonic - this.lookedAt;
    if (age >= GOOD_FOR || age < 0) {
      this.lookedAt = monotonic;
      if (suspensions.isDoubtedAt(monotonic)) this.look();
    }
    return monotonic + suspensions.suspended;
  }

  setTimer(delay: number, callback: () => void): unknown {
    const timer: Timer = { due: this.now() + delay, callback, part: undefined };
    this.timers.add(timer);
    this.wait(timer, delay);
    return timer;
  }

  clearTimer(timer: unknown): void {
    if (this.timers.delete(timer as Timer)) this.parts.clearTimer((timer as Timer).part);
  }

  private look(): void {
    if (this.suspensions?.look() !== true) return;
    for (const timer of this.timers) {
      this.parts.clearTimer(timer.part);
      this.wait(timer, timer.due - this.now());
    }
  }

  private wait(timer: Timer, delay: number): void {
    timer.part = this.parts.setTimer(Math.min(Math.max(delay, 0), LOOK_EVERY), () => this.partOver(timer));
  }

  private partOver(timer: Timer): void {
    // Not among the timers that a look sets again.
    this.timers.delete(timer);
    this.look();
    const left = timer.due - this.now();
    // Node calls back up to a millisecond early.
    if (left < 1) return timer.callback();
    this.timers.add(timer);
    this.wait(timer, left);
  }
}
