import type { LockLogger } from '../../common/logger.js';

/** By how many ms two clocks may differ, beyond the uncertainty of the readings, before a warning is logged. */
const TOLERANCE = 1_000;
/** For how many ms a reading counts more than a later, less exact one. */
const READING_LASTS = 10_000;
/** If only two clocks differ, it is unknown which one is wrong. */
const ENOUGH = 3;
/** After this many ms, two clocks are compared without a third one: the other masters do not answer. */
const WAIT_FOR_THIRD = 1_000;
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
  /** Since when there are readings of two clocks only, by the client's clock. */
  private pairSince: number | undefined;
  /** Whether a difference between two clocks counts, and whether there was a warning about it. */
  private pair: 'unsure' | 'sure' | 'warned' = 'unsure';

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
    this.pairSince = this.readings.size === 2 ? (this.pairSince ?? reading.received) : undefined;
    if (this.pairSince !== undefined && reading.received - this.pairSince >= WAIT_FOR_THIRD) this.comparePair();
  }

  /** The address may lead to another server now. */
  forget(place: number): void {
    this.readings.delete(place);
    this.pairSince = undefined;
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

  /** Two masters may be the only majority. A difference counts if it is there again with new readings of both clocks. */
  private comparePair(): void {
    const [[one, first], [other, second]] = [...this.readings] as [[number, ClockReading], [number, ClockReading]];
    const apart = Math.abs(offsetOf(first) - offsetOf(second));
    if (apart - (widthOf(first) + widthOf(second)) / 2 <= TOLERANCE) this.pair = 'unsure';
    else if (this.pair === 'unsure') {
      this.pair = 'sure';
      this.readings.clear();
      this.pairSince = undefined;
    } else if (this.pair === 'sure') {
      this.pair = 'warned';
      const names = [one, other].sort((a, b) => a - b).map(this.nameOf);
      this.logger.warn(
        `the clocks of ${names.join(' and ')} differ by ${(apart / 1_000).toFixed(1)} s: ${SYNCHRONIZE}`,
      );
    }
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

const SYNCHRONIZE =
  'fencing tokens follow these clocks, and may fall when a master loses its data. Synchronize the clocks (NTP).';

const widthOf = ({ sent, received }: ClockReading): number => received - sent;

/** The best estimate of how far the clock is ahead of the client's. */
const offsetOf = ({ time, sent, received }: ClockReading): number => time - (sent + received) / 2;

const whyWarned = (name: string, ahead: number): string =>
  `the clock of ${name} is ${(Math.abs(ahead) / 1_000).toFixed(1)} s ${ahead > 0 ? 'ahead of' : 'behind'} that of the other masters: ${SYNCHRONIZE}`;
