import { SlidingCounts } from './sliding-counts.js';

/** The first bucket ends at 0.1 ms, the last but one at 10 000 s. Four buckets cover a factor of ten. */
export const BUCKETS = Object.freeze({ first: 0.1, perDecade: 4, count: 34 });

const SLOT = 10_000;

/** A logarithmic histogram of durations over the last `window` ms: counts by bucket. */
export const durationHistogram = (window: number): SlidingCounts =>
  new SlidingCounts(SLOT, window / SLOT, BUCKETS.count);

/**
 * Bucket 0 counts durations up to `first`. Bucket i counts those longer than the bucket before it, and the last one the
 * rest.
 */
export function bucketOf(ms: number): number {
  const { first, perDecade, count } = BUCKETS;
  if (!(ms > first)) return 0;
  // The logarithm of a bound may be slightly too large.
  return Math.min(count - 1, Math.ceil(perDecade * Math.log10(ms / first) - 1e-9));
}
