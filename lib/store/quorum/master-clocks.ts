import type { LockLogger } from '../../common/logger.js';

/** By how many ms clocks may differ, beyond what the ways of questions and answers leave open, before that is warned of. */
const TOLERANCE = 1_000;
/** For how many ms a reading counts more than a later one that is less exact. */
const READING_LASTS = 10_000;
/** Of two clocks nobody can say which one is wrong. */
const ENOUGH = 3;
/** After so many ms a reading says nothing any more of when a lease ends. */
const READING_IS_OLD = 60_000;

/** What one answer says of a master's clock: at some moment between these two, by ours, it showed this time. */
export interface ClockReading {
  /** The master's clock, in ms. */
  readonly time: number;
  readonly sent: number;
  readonly received: number;
}

/** Reads the clocks of the masters from what they answer anyway, and warns where one differs from the others. */
export class MasterClocks {
  private readonly readings = new Map<number, ClockReading>();
  private readonly warned = new Set<number>();
  /**
   * Whether a difference among these readings counts. Our own clock stands still while the machine sleeps, so what was read
   * before differs from what is read after: at the first difference all are read anew.
   */
  private isSure = true;

  constructor(
    /** How a master is called in a warning. */
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

  /** Another server may be there now. */
  forget(place: number): void {
    this.readings.delete(place);
  }

  /**
   * What a master's clock shows at a moment of ours, at the least; `undefined`: nothing is known of it, or what is known is
   * old.
   */
  timeAt(place: number, moment: number, now: number): number | undefined {
    const reading = this.readings.get(place);
    if (reading === undefined || now - reading.received > READING_IS_OLD) return undefined;
    return reading.time + moment - reading.received;
  }

  /** The median is right, where several differ. */
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

/** How far the clock is ahead of ours, as well as that is known. */
const offsetOf = ({ time, sent, received }: ClockReading): number => time - (sent + received) / 2;

const whyWarned = (name: string, ahead: number): string =>
  `the clock of ${name} is ${(Math.abs(ahead) / 1_000).toFixed(1)} s ${ahead > 0 ? 'ahead of' : 'behind'} that of the other masters: ` +
  'fencing tokens follow these clocks, and may fall when a master loses its data. Synchronize the clocks (NTP).';
