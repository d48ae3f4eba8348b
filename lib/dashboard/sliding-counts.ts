/** Counts by column over a sliding window of time, in a fixed amount of memory. */
export class SlidingCounts {
  private readonly counts: Uint32Array;
  /** The slot of time that each row stands for. */
  private readonly times: Float64Array;

  constructor(
    /** ms */
    private readonly slot: number,
    private readonly slots: number,
    private readonly columns = 1,
  ) {
    this.counts = new Uint32Array(columns * slots);
    this.times = new Float64Array(slots).fill(-1);
  }

  /** `now` in ms, from a monotonic clock. */
  add(now: number, column = 0): void {
    const time = Math.floor(now / this.slot);
    const row = time % this.slots;
    if (this.times[row] !== time) {
      this.times[row] = time;
      this.counts.fill(0, row * this.columns, (row + 1) * this.columns);
    }
    this.counts[row * this.columns + column]! += 1;
  }

  /** The counts of a column by slot, the oldest first. The last slot is not complete. */
  history(now: number, column = 0): number[] {
    const last = Math.floor(now / this.slot);
    return Array.from({ length: this.slots }, (_, i) => this.at(last - this.slots + 1 + i, column));
  }

  /** The count of each column over the whole window. */
  sums(now: number): number[] {
    return Array.from({ length: this.columns }, (_, column) =>
      this.history(now, column).reduce((sum, count) => sum + count, 0),
    );
  }

  private at(time: number, column: number): number {
    const row = time % this.slots;
    return time >= 0 && this.times[row] === time ? this.counts[row * this.columns + column]! : 0;
  }
}
