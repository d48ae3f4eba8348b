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

/** A master, as a warning names it. */
interface Master {
  readonly name: string;
}

/** Reads the masters' clocks from replies that arrive anyway, and warns if one differs from the others. */
export class MasterClocks {
  private readonly readings = new Map<Master, ClockReading>();
  private readonly warned = new Set<Master>();
  /**
   * Whether a difference among these readings counts. The client's clock stands still during a suspension, so readings
   * from before and after it differ. All clocks are read again at the first difference.
   */
  private isSure = true;
  /** Since when there are readings of two clocks only, by the client's clock. */
  private pairSince: number | undefined;

  constructor(private readonly logger: LockLogger) {}

  note(master: Master, reading: ClockReading): void {
    const before = this.readings.get(master);
    const isExact = before === undefined || widthOf(reading) <= widthOf(before);
    if (!isExact && reading.received - before.received < READING_LASTS) return;
    this.readings.set(master, reading);
    this.pairSince = this.readings.size === 2 ? (this.pairSince ?? reading.received) : undefined;
    const waited = reading.received - (this.pairSince ?? Infinity);
    if (this.readings.size >= ENOUGH || waited >= WAIT_FOR_THIRD) this.compare();
  }

  /** The address may lead to another server now. */
  forget(master: Master): void {
    this.readings.delete(master);
    this.pairSince = undefined;
  }

  /**
   * The earliest time that a master's clock can show at a moment of the client's clock; `undefined`: there is no recent
   * reading.
   */
  timeAt(master: Master, moment: number, now: number): number | undefined {
    const reading = this.readings.get(master);
    if (reading === undefined || now - reading.received > READING_IS_OLD) return undefined;
    return reading.time + moment - reading.received;
  }

  /** Compares all clocks with the median. Of two clocks, the median is the lower one. */
  private compare(): void {
    const sorted = [...this.readings].sort(([, a], [, b]) => offsetOf(a) - offsetOf(b));
    const [reference, right] = sorted[Math.floor((sorted.length - 1) / 2)]!;
    const found = sorted.flatMap(([master, reading]) => {
      const ahead = offsetOf(reading) - offsetOf(right);
      const differs = Math.abs(ahead) - (widthOf(reading) + widthOf(right)) / 2 > TOLERANCE;
      if (!differs) this.warned.delete(master);
      return differs && !this.warned.has(master) ? [{ master, ahead }] : [];
    });
    if (found.length === 0) this.isSure = false;
    else if (!this.isSure) {
      this.isSure = true;
      this.readings.clear();
      this.pairSince = undefined;
    } else {
      const others = sorted.length < ENOUGH ? reference.name : 'the other masters';
      for (const { master, ahead } of found) {
        this.warned.add(master);
        this.logger.warn(whyWarned(master.name, ahead, others));
      }
    }
  }
}

const SYNCHRONIZE =
  'fencing tokens follow these clocks, and may fall when a master loses its data. Synchronize the clocks (NTP).';

const widthOf = ({ sent, received }: ClockReading): number => received - sent;

/** The best estimate of how far the clock is ahead of the client's. */
const offsetOf = ({ time, sent, received }: ClockReading): number => time - (sent + received) / 2;

const whyWarned = (name: string, ahead: number, others: string): string =>
  `the clock of ${name} is ${(Math.abs(ahead) / 1_000).toFixed(1)} s ${ahead > 0 ? 'ahead of' : 'behind'} that of ${others}: ${SYNCHRONIZE}`;
