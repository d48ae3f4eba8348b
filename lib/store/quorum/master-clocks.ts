import type { LockLogger } from '../../common/logger.js';

/** By how many ms two clocks may differ, beyond the uncertainty of the readings, before a warning is logged. */
const TOLERANCE = 1_000;
/** For how many ms a reading counts more than a later, less exact one. */
const READING_LASTS = 10_000;
/** If only two clocks differ, it is unknown which one is wrong. */
const ENOUGH = 3;
/** After this many ms, a reading is too old to compute the end of a lease from it. */
const READING_IS_OLD = 60_000;

/**
 * One reading of a master's clock: it showed `time` at a moment between `sent` and `received` of the client's clock.
 */
export interface ClockReading {
  /** The master's clock, in ms. */
  readonly time: number;
  readonly sent: number;
  readonly received: number;
}

/** Reads the masters' clocks from replies that arrive anyway, and warns if one differs from the others. */
export class MasterClocks {
  private readonly readings = new Map<number, ClockReading>();
  private readonly warned = new Set<number>();
  /**
   * Whether a difference among these readings counts. The client's clock stands still during a suspension, so readings
   * from before and after it differ. All clocks are read again at the first difference.
   */
  private isSure = true;

  constructor(
    /** Returns the name of a master for a warning. */
    private readonly nameOf: (place: number) => string,
    private readonly logger: LockLogger,
  ) {}

  note(place: number, reading: ClockReading): void {
    const before = this.readings.get(place);
    const isExact = before === undefined || widthOf(reading) <= widthOf(before);
    if (!isExact && reading.received - before.received < READING_LASTS) return;
    this.readings.set(place, reading);
    if (this.readings.size >= ENOUGH) this.compare();
  }

  /** The address may lead to another server now. */
  forget(place: number): void {
    this.readings.delete(place);
  }

  /**
   * The earliest time that a master's clock can show at a moment of the client's clock; `undefined`: there is no recent
   * reading.
   */
  timeAt(place: number, moment: number, now: number): number | undefined {
    const reading = this.readings.get(place);
    if (reading === undefined || now - reading.received > READING_IS_OLD) return undefined;
    return reading.time + moment - reading.received;
  }

  /** If some clocks differ, the median is taken as right. */
  private compare(): void {
    const offsets = [...this.readings.values()].map(offsetOf).sort((a, b) => a - b);
    const median = offsets[Math.floor((offsets.length - 1) / 2)]!;
    const found = [...this.readings].flatMap(([place, reading]) => {
      const ahead = offsetOf(reading) - median;
      const differs = Math.abs(ahead) - widthOf(reading) / 2 > TOLERANCE;
      if (!differs) this.warned.delete(place);
      return differs && !this.warned.has(place) ? [{ place, ahead }] : [];
    });
    if (found.length === 0) this.isSure = false;
    else if (!this.isSure) {
      this.isSure = true;
      this.readings.clear();
    } else {
      for (const { place, ahead } of found) {
        this.warned.add(place);
        this.logger.warn(whyWarned(this.nameOf(place), ahead));
      }
    }
  }
}

const widthOf = ({ sent, received }: ClockReading): number => received - sent;

/** The best estimate of how far the clock is ahead of the client's. */
const offsetOf = ({ time, sent, received }: ClockReading): number => time - (sent + received) / 2;

const whyWarned = (name: string, ahead: number): string =>
  `the clock of ${name} is ${(Math.abs(ahead) / 1_000).toFixed(1)} s ${ahead > 0 ? 'ahead of' : 'behind'} that of the other masters: ` +
  'fencing tokens follow these clocks, and may fall when a master loses its data. Synchronize the clocks (NTP).';
