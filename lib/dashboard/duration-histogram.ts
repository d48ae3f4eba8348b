import { SlidingCounts } from './sliding-counts.js';

/** The first bucket ends at 0.1 ms, the last but one at 10 000 s; four are a factor of ten. */
export const BUCKETS = Object.freeze({ first: 0.1, perDecade: 4, count: 34 });

const SLOT = 10_000;

/** How long something took, by orders of magnitude, over the last minutes. */
export class DurationHistogram {
  private readonly counts: SlidingCounts;

  /** `window` in ms; so many series are kept apart. */
  constructor(series: number, window: number) {
    this.counts = new SlidingCounts(series * BUCKETS.count, SLOT, window / SLOT);
  }

  add(series: number, ms: number, now: number): void {
    this.counts.add(series * BUCKETS.count + bucketOf(ms), now);
  }

  /** The counts of one series. */
  read(series: number, now: number): number[] {
    return this.counts.sums(now).slice(series * BUCKETS.count, (series + 1) * BUCKETS.count);
  }
}

/** Bucket 0 takes all up to `first`, bucket i what is longer than the one before it, and the last one the rest. */
export function bucketOf(ms: number): number {
  const { first, perDecade, count } = BUCKETS;
  if (!(ms > first)) return 0;
  // Bounds are powers of ten that binary numbers miss by a little.
  return Math.min(count - 1, Math.ceil(perDecade * Math.log10(ms / first) - 1e-9));
}
