import { ElapsedClock, type Clock } from '../../../lib/common/clock.js';
import type { Happening, World } from './world.js';

/** Where a process runs: how fast its clocks are, and whether it runs at all. */
export class Machine {
  /** Until when it does nothing: it is stopped, or its event loop is blocked. */
  stalledUntil = 0;
  /** It does nothing any more. */
  dead = false;
  /** How far the wall clock has been set. */
  wallShift = 0;
  /** ms of suspensions that are over: its monotonic clock and its timers have not counted them. */
  suspended = 0;
  private suspendedUntil = 0;

  constructor(
    readonly world: World,
    /** How much faster than the time of the world. */
    readonly rate: number,
    /** The reading of its clock at the beginning of the world. */
    private readonly origin: number,
  ) {}

  /** Since it was started, suspensions included. */
  get now(): number {
    return this.origin + this.world.now * this.rate;
  }

  /** The world's time when `now` is `time`. */
  worldTime(time: number): number {
    return (time - this.origin) / this.rate;
  }

  /** Another machine whose clock runs as this one's. */
  twin(): Machine {
    return new Machine(this.world, this.rate, this.origin);
  }

  get isStalled(): boolean {
    return this.world.now < this.stalledUntil;
  }

  stall(ms: number): void {
    this.stalledUntil = Math.max(this.stalledUntil, this.world.now + ms);
  }

  /** It resumes at this moment after a suspension, and has not yet called the timers that fell due meanwhile. */
  get isResuming(): boolean {
    return this.world.now === this.suspendedUntil;
  }

  /** The machine sleeps; `resumed` is the first action of its process when it continues. */
  suspend(ms: number, resumed: () => void): void {
    const { world } = this;
    if (world.now < this.suspendedUntil) return;
    this.suspendedUntil = world.now + ms + WAKING;
    this.stalledUntil = Math.max(this.stalledUntil, this.suspendedUntil);
    world.at(this.suspendedUntil, () => {
      this.suspended += ms * this.rate;
      // At once, even if it is stalled for longer: the checker uses the time that the process would see.
      if (!this.dead) resumed();
    });
  }

  /** Runs something now, or when the machine resumes; never after its death. */
  do(work: () => void): void {
    if (this.dead) return;
    if (this.isStalled) this.world.at(this.stalledUntil, () => this.do(work));
    else work();
  }
}

/** ms between two looks at a clock, at least. */
const TICK = 1e-6;
/** ms that it takes until a process runs again after a suspension: its monotonic clock counts them. */
const WAKING = 0.03;
/** The reading of a machine's wall clock at the start of the machine, if it has not been set. */
export const WALL = 1_700_000_000_000;

interface Timer {
  readonly due: number;
  readonly callback: () => void;
  happening: Happening;
}

/**
 * The monotonic clock of a process. As on Linux, neither it nor its timers count suspensions. Knows its pending timers,
 * so that nothing is left behind unseen.
 */
export class MachineClock implements Clock {
  /** How many keep the process alive. */
  awake = 0;

  private last = 0;
  private readonly pending = new Set<Timer>();

  constructor(private readonly machine: Machine) {}

  /** How many timers have been set and not been called or cleared. */
  get timers(): number {
    return this.pending.size;
  }

  /** Never the same twice, as `performance.now()`. */
  now(): number {
    this.last = Math.max(this.counted, this.last + TICK);
    return this.last;
  }

  setTimer(delay: number, callback: () => void): Timer {
    const due = this.counted + delay;
    const timer: Timer = { due, callback, happening: this.plan(delay, () => this.fall(timer)) };
    this.pending.add(timer);
    return timer;
  }

  clearTimer(timer: unknown): void {
    if (this.pending.delete(timer as Timer)) this.machine.world.cancel((timer as Timer).happening);
  }

  keepAlive(): () => void {
    this.awake += 1;
    let over = false;
    return () => {
      if (!over) this.awake -= 1;
      over = true;
    };
  }

  private get counted(): number {
    return this.machine.now - this.machine.suspended;
  }

  private plan(delay: number, run: () => void): Happening {
    const { world, rate } = this.machine;
    return world.at(world.now + delay / rate, () => this.machine.do(run));
  }

  private fall(timer: Timer): void {
    // It may have been cleared while the process stood still.
    if (!this.pending.has(timer)) return;
    const left = timer.due - this.counted;
    if (left > TICK) {
      timer.happening = this.plan(left, () => this.fall(timer));
      return;
    }
    this.pending.delete(timer);
    timer.callback();
  }
}

/** The clock that the library makes of the clocks of a machine. */
export class EngineClock extends ElapsedClock implements Clock {
  private readonly monotonic: MachineClock;

  constructor(private readonly machine: Machine) {
    const monotonic = new MachineClock(machine);
    super({
      now: () => monotonic.now(),
      wall: () => WALL + machine.now + machine.wallShift,
      uptime: () => Math.floor(machine.now / 10) / 100,
      setTimer: (delay, callback) => monotonic.setTimer(delay, callback),
      clearTimer: (timer) => monotonic.clearTimer(timer),
    });
    this.monotonic = monotonic;
  }

  get timersLeft(): number {
    return this.monotonic.timers;
  }

  get awake(): number {
    return this.monotonic.awake;
  }

  keepAlive(): () => void {
    return this.monotonic.keepAlive();
  }

  /** Its reading, without an access to the clock. */
  get says(): number {
    return this.machine.now + this.ahead;
  }

  /** The world's time when it says `time`. */
  worldTime(time: number): number {
    return this.machine.worldTime(time - this.ahead);
  }

  /** By how many ms it is ahead of the time that has elapsed. */
  private get ahead(): number {
    return this.suspended - this.machine.suspended;
  }
}
