import type { Clock } from '../../lib/common/clock.js';
import type { Happening, World } from './world.js';

/** Where a process runs: how fast its clock is, and whether it runs at all. */
export class Machine {
  /** Until when it does nothing: it is stopped, or its event loop is blocked. */
  stalledUntil = 0;
  /** It does nothing any more. */
  dead = false;
  /** How far somebody has set the clock of the wall. */
  wallShift = 0;

  constructor(
    readonly world: World,
    /** How much faster than the time of the world. */
    readonly rate: number,
    /** What its clock says at the beginning of the world. */
    private readonly origin: number,
  ) {}

  get now(): number {
    return this.origin + this.world.now * this.rate;
  }

  /** The world's time when its clock says `time`. */
  worldTime(time: number): number {
    return (time - this.origin) / this.rate;
  }

  get isStalled(): boolean {
    return this.world.now < this.stalledUntil;
  }

  stall(ms: number): void {
    this.stalledUntil = Math.max(this.stalledUntil, this.world.now + ms);
  }

  /** Has it do something now, or when it goes on; never once it is dead. */
  do(work: () => void): void {
    if (this.dead) return;
    if (this.isStalled) this.world.at(this.stalledUntil, () => this.do(work));
    else work();
  }
}

/** ms between two looks at a clock, at least. */
const TICK = 1e-6;
const WALL = 1_700_000_000_000;

/** What a process sees of the time. Knows who still waits by it, so that nothing is left behind unseen. */
export class MachineClock implements Clock {
  /** How many timers have been set and not been called or cleared. */
  timers = 0;
  /** How many keep the process alive. */
  awake = 0;

  private last = 0;

  constructor(private readonly machine: Machine) {}

  /** Never the same twice, as `performance.now()`. */
  now(): number {
    this.last = Math.max(this.machine.now, this.last + TICK);
    return this.last;
  }

  wall(): number {
    return WALL + this.machine.now + this.machine.wallShift;
  }

  setTimer(delay: number, callback: () => void): Happening {
    const { world, rate } = this.machine;
    this.timers += 1;
    const timer: Happening = world.at(world.now + delay / rate, () => {
      const fire = (): void => {
        // It may have been cleared while the process stood still.
        if (!pending.delete(timer)) return;
        this.timers -= 1;
        callback();
      };
      this.machine.do(fire);
    });
    pending.add(timer);
    return timer;
  }

  clearTimer(timer: unknown): void {
    const happening = timer as Happening | undefined;
    if (happening === undefined || !pending.delete(happening)) return;
    this.timers -= 1;
    this.machine.world.cancel(happening);
  }

  stayAwake(): () => void {
    this.awake += 1;
    let over = false;
    return () => {
      if (!over) this.awake -= 1;
      over = true;
    };
  }
}

const pending = new WeakSet<Happening>();
