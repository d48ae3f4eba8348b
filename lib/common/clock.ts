import { platform, uptime } from 'node:os';
import { outside } from './async-context.js';
import { readingClock } from './reading-timer.js';

/** The clock of the engine. Tests and simulations bring their own. */
export interface Clock {
  /** ms on a monotonic clock that counts the time for which the machine was suspended. */
  now(): number;
  /**
   * Calls back once, `delay` ms later on this clock, give or take 1 ms. If the time passed while the machine was suspended,
   * the call follows within about a second after the resume. Node reads first what has arrived by then. The timer does not
   * keep the process alive.
   */
  setTimer(delay: number, callback: () => void): unknown;
  clearTimer(timer: unknown): void;
  /** Keeps the process alive for a waiter, until the returned function is called. */
  keepAlive(): () => void;
}

/** In ms: Node fires a timer that is longer than this after 1 ms. Timers of a `Clock` may be longer. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** ms by which the wall clock may differ from the monotonic clock before the boot time is read. */
const WALL_TOLERANCE = 10;
/** The resolution of the boot time in ms: of `/proc/uptime` (1/100 s), and of whole seconds. */
const GRAIN = 10;
const COARSE_GRAIN = 1_000;
/** ms by which the clocks of two processors may differ, such as in a virtual machine that has moved to another host. */
const SKEW = 1;
/** If the bounds of a look are farther apart than so many ms, another look may find more. */
const SHARP = 2 * GRAIN;

/** The clocks of a machine. */
interface MachineTime {
  /** ms on a monotonic clock. It may stand still while the machine is suspended. */
  now(): number;
  /** ms since 1970. Operators and NTP set this clock. */
  wall(): number;
  /** Seconds since the machine started, suspensions included, like `os.uptime()` on Linux. */
  uptime(): number;
}

/** The bounds of the ms by which the boot time is ahead of the monotonic clock. */
interface Lead {
  readonly least: number;
  readonly most: number;
}

/**
 * Measures for how long the machine was suspended, if the monotonic clock does not count that. Boot time minus monotonic
 * time is a constant that only a suspension changes. Each look returns bounds of it; if they lie above the known bounds, the
 * machine was suspended. Reading the boot time takes microseconds, so it is read only if the wall clock differs from the
 * monotonic clock. The wall clock decides nothing: it may have been set.
 */
class SuspensionDetector {
  /**
   * ms of the suspensions that were noticed. Each counts as long as the bounds allow, so that no lease seems to last longer than
   * it does. That is too long by at most the widths of the two bounds.
   */
  suspended = 0;
  private bootLead: Lead;
  private wallLead = 0;
  /** The boot time has fractions of a second. A boot time in whole seconds may have been rounded up or down. */
  private isFine = false;
  /** From when on the first looks show whether it has fractions. */
  private readonly knownFrom: number;

  constructor(private readonly time: MachineTime) {
    this.bootLead = { least: -Infinity, most: Infinity };
    this.knownFrom = time.now() + SHARP;
    this.look();
  }

  /** Whether the wall clock differs from the monotonic clock, which says `monotonic` now. */
  isDoubtedAt(monotonic: number): boolean {
    const parted = this.time.wall() - monotonic - this.wallLead;
    return parted > WALL_TOLERANCE || parted < -WALL_TOLERANCE;
  }

  /** Reads the boot time; returns whether the machine was suspended since the last look. */
  look(): boolean {
    const { time, bootLead: known } = this;
    // Before the boot time, so that the next look notices a suspension in between.
    const wall = time.wall();
    const monotonic = time.now();
    const found = this.readBootLead();
    const isSharp = found.most - found.least <= SHARP;
    if (isSharp) this.isFine = true;
    // Otherwise look again: a sharper look may find what this one missed.
    if (isSharp || (!this.isFine && monotonic >= this.knownFrom)) this.wallLead = wall - monotonic;
    const isSuspension = found.least - known.most > SKEW;
    if (isSuspension) this.suspended += found.most - known.least;
    // A boot time cannot go back against the monotonic clock: a test has replaced one of the two.
    const isBehind = known.least - found.most > SKEW;
    this.bootLead = isSuspension || isBehind ? found : overlap(known, found);
    return isSuspension;
  }

  private readBootLead(): Lead {
    const { time } = this;
    const before = time.now();
    const seconds = time.uptime();
    const after = time.now();
    // Node falls back to whole seconds if it cannot read /proc/uptime; other runtimes round them up.
    const isWhole = Number.isInteger(seconds);
    const [early, late] = [isWhole && !this.isFine ? COARSE_GRAIN : 0, isWhole ? COARSE_GRAIN : GRAIN];
    return { least: seconds * 1_000 - early - after, most: seconds * 1_000 + late - before };
  }
}

const overlap = (one: Lead, other: Lead): Lead => ({
  least: Math.max(one.least, other.least),
  most: Math.min(one.most, other.most),
});

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
    const monotonic = this.parts.now();
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

/** How many callers keep the process alive, and the timer that does so while there are any. It is never due. */
let callers = 0;
let keeper: NodeJS.Timeout | undefined;
const LONG = 2 ** 30;

function keepAlive(): () => void {
  // One timer for all: a caller that waits sets none of its own.
  keeper ??= outside(() => setInterval(() => undefined, LONG).unref());
  if (callers === 0) keeper.ref();
  callers += 1;
  let over = false;
  return () => {
    if (over) return;
    over = true;
    callers -= 1;
    if (callers === 0) keeper?.unref();
  };
}

// The monotonic clock of Linux does not count suspensions. Those of macOS and Windows do, and `os.uptime()` of macOS comes
// from the wall clock.
const standsStill = ['linux', 'android'].includes(platform());

export const systemClock: Clock = Object.assign(
  new ElapsedClock({
    ...readingClock,
    wall: () => Date.now(),
    uptime: standsStill ? uptime : undefined,
  }),
  { keepAlive },
);
