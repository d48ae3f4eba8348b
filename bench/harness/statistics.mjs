export function median(numbers) {
  const sorted = numbers.filter((n) => Number.isFinite(n)).sort((a, b) => a - b);
  if (sorted.length === 0) return NaN;
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Jain's index of fairness: 1 when all have the same, 1/n when one has all. */
export function jain(numbers) {
  let sum = 0;
  let squares = 0;
  for (const n of numbers) {
    sum += n;
    squares += n * n;
  }
  return squares === 0 ? NaN : (sum * sum) / (numbers.length * squares);
}

const SMALLEST = 1e-4;
const PER_DECADE = 50;
const DECADES = 10;

/** Times in ms in classes that are 4.7 % wide, from 0.1 µs on; the largest and the sum are exact. */
export class Histogram {
  constructor({ counts = new Float64Array(PER_DECADE * DECADES + 1), max = 0, sum = 0, count = 0 } = {}) {
    Object.assign(this, { counts, max, sum, count });
  }

  add(ms) {
    const index = ms <= SMALLEST ? 0 : Math.ceil(Math.log10(ms / SMALLEST) * PER_DECADE);
    this.counts[Math.min(index, this.counts.length - 1)]++;
    this.count++;
    this.sum += ms;
    if (ms > this.max) this.max = ms;
  }

  merge({ counts, max, sum, count }) {
    for (let i = 0; i < counts.length; i++) this.counts[i] += counts[i];
    this.max = Math.max(this.max, max);
    this.sum += sum;
    this.count += count;
    return this;
  }

  static merged(histograms) {
    const all = new Histogram();
    for (const histogram of histograms) all.merge(histogram);
    return all;
  }

  get mean() {
    return this.sum / this.count;
  }

  /** Within the class that holds the quantile, times are taken as evenly spread. */
  quantile(q) {
    if (this.count === 0) return NaN;
    const rank = Math.max(1, Math.ceil(q * this.count));
    let seen = 0;
    for (let i = 0; i < this.counts.length; i++) {
      const before = seen;
      seen += this.counts[i];
      if (seen < rank) continue;
      const part = (rank - before - 0.5) / this.counts[i];
      return Math.min(this.max, SMALLEST * 10 ** ((i - 1 + part) / PER_DECADE));
    }
    return this.max;
  }

  /** `[upper edge in ms, how many]` for the classes that have any. */
  get classes() {
    const classes = [];
    this.counts.forEach((count, i) => {
      if (count > 0) classes.push([Number((SMALLEST * 10 ** (i / PER_DECADE)).toPrecision(3)), count]);
    });
    return classes;
  }
}
