/** ms by which the wall clock may part from the monotonic clock before the boot time is looked at. */
const WALL_TOLERANCE = 10;
/** ms between two values of the boot time, in 1/100 s as `/proc/uptime` has it, and in whole seconds. */
const GRAIN = 10;
const COARSE_GRAIN = 1_000;
/** ms between the least and the most that a look found, beyond which another look may find more. */
const SHARP = 2 * GRAIN;

/** What a machine tells about the time. */
export interface MachineTime {
  /** Milliseconds on a clock that nobody sets. It may stand still while the machine is suspended. */
  monotonic(): number;
  /** Milliseconds since 1970. People and NTP set this clock. */
  wall(): number;
  /** Seconds since the machine was started, suspensions included, as `os.uptime()` of Linux. */
  uptime(): number;
}

/** By how many ms the boot time is ahead of the monotonic clock: something between the two. */
interface Lead {
  readonly least: number;
  readonly most: number;
}

/**
 * Finds out for how long the machine has been suspended, where the monotonic clock does not count that. Boot time minus
 * monotonic time is a constant that grows by each suspension, and by nothing else. Each look tells within which bounds it
 * is; bounds that no longer overlap are a suspension. Reading the boot time takes microseconds, so a wall clock that
 * parts from the monotonic clock says when to look. It only raises the doubt: it may have been set.
 */
export class SuspensionDetector {
  /** ms for which the machine was suspended, at least; at most the grain of the boot time more for each time. */
  suspended = 0;
  private bootLead: Lead;
  private wallLead = 0;
  /** The boot time has parts of a second; one of whole seconds may have been rounded up or down. */
  private isFine = false;
  /** When it can be told from the first looks whether it has. */
  private readonly knownFrom: number;

  constructor(private readonly time: MachineTime) {
    this.bootLead = { least: -Infinity, most: Infinity };
    this.knownFrom = time.monotonic() + SHARP;
    this.look();
  }

  /** Whether the wall clock has parted from the monotonic clock, which says `monotonic` now. */
  isDoubtedAt(monotonic: number): boolean {
    const parted = this.time.wall() - monotonic - this.wallLead;
    return parted > WALL_TOLERANCE || parted < -WALL_TOLERANCE;
  }

  /** Looks at the boot time; answers whether the machine was suspended since the last look. */
  look(): boolean {
    const { time, bootLead: known } = this;
    // Before the boot time, so that a suspension in between leaves a doubt.
    const wall = time.wall();
    const monotonic = time.monotonic();
    const found = this.readBootLead();
    const isSharp = found.most - found.least <= SHARP;
    if (isSharp) this.isFine = true;
    // The doubt stays if a sharper look may find what this one missed.
    if (isSharp || (!this.isFine && monotonic >= this.knownFrom)) this.wallLead = wall - monotonic;
    const isSuspension = found.least > known.most;
    if (isSuspension) this.suspended += found.most - known.least;
    // A boot time that has gone back against the monotonic clock is none: a test has replaced one of the two.
    const isBehind = found.most < known.least;
    this.bootLead = isSuspension || isBehind ? found : overlap(known, found);
    return isSuspension;
  }

  private readBootLead(): Lead {
    const { time } = this;
    const before = time.monotonic();
    const seconds = time.uptime();
    const after = time.monotonic();
    // Node falls back to whole seconds where it cannot read /proc/uptime; other runtimes round them up.
    const isWhole = Number.isInteger(seconds);
    const [early, late] = [isWhole && !this.isFine ? COARSE_GRAIN : 0, isWhole ? COARSE_GRAIN : GRAIN];
    return { least: seconds * 1_000 - early - after, most: seconds * 1_000 + late - before };
  }
}

const overlap = (one: Lead, other: Lead): Lead => ({
  least: Math.max(one.least, other.least),
  most: Math.min(one.most, other.most),
});
