/** ms by which the wall clock may differ from the monotonic clock before the boot time is read. */
const WALL_TOLERANCE = 10;
/** The resolution of the boot time in ms: of `/proc/uptime` (1/100 s), and of whole seconds. */
const GRAIN = 10;
const COARSE_GRAIN = 1_000;
/** If the bounds of a look are farther apart than so many ms, another look may find more. */
const SHARP = 2 * GRAIN;

/** The clocks of a machine. */
export interface MachineTime {
  /** ms on a monotonic clock. It may stand still while the machine is suspended. */
  monotonic(): number;
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
export class SuspensionDetector {
  /** ms for which the machine was suspended: a lower bound, short by at most the resolution of the boot time each time. */
  suspended = 0;
  private bootLead: Lead;
  private wallLead = 0;
  /** The boot time has fractions of a second. A boot time in whole seconds may have been rounded up or down. */
  private isFine = false;
  /** From when on the first looks show whether it has fractions. */
  private readonly knownFrom: number;

  constructor(private readonly time: MachineTime) {
    this.bootLead = { least: -Infinity, most: Infinity };
    this.knownFrom = time.monotonic() + SHARP;
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
    const monotonic = time.monotonic();
    const found = this.readBootLead();
    const isSharp = found.most - found.least <= SHARP;
    if (isSharp) this.isFine = true;
    // Otherwise look again: a sharper look may find what this one missed.
    if (isSharp || (!this.isFine && monotonic >= this.knownFrom)) this.wallLead = wall - monotonic;
    const isSuspension = found.least > known.most;
    if (isSuspension) this.suspended += found.most - known.least;
    // A boot time cannot go back against the monotonic clock: a test has replaced one of the two.
    const isBehind = found.most < known.least;
    this.bootLead = isSuspension || isBehind ? found : overlap(known, found);
    return isSuspension;
  }

  private readBootLead(): Lead {
    const { time } = this;
    const before = time.monotonic();
    const seconds = time.uptime();
    const after = time.monotonic();
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
