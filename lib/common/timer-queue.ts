import type { Clock } from './clock.js';

/**
 * ms that a limit on a reply leaves, once it is due, for reading a reply that has arrived. The clock reads what has
 * arrived before it runs timers, even after a stall.
 */
export const READING_TIME = 2;

/**
 * For how many ms callbacks run before the event loop continues. Thousands of renewals that are due together would
 * otherwise block the process.
 */
const SLICE = 2;
/** How many callbacks run between two looks at the clock. */
const CALLBACKS_PER_LOOK = 16;

/** What is due at a time. An object of which there are many can be its own entry. */
export interface TimerEntry {
  /** Only the queue sets it. */
  at: number;
  /** Index in the heap; -1: the entry is not in the queue. Only the queue sets it. */
  index: number;
  run(): void;
}

/**
 * All callbacks that are due later, on one timer of the clock: a binary heap of entries. Each waiter, each hold and each
 * request that is repeated costs one entry here instead of a timer of its own.
 */
export class TimerQueue {
  private readonly heap: TimerEntry[] = [];
  private timer: unknown;
  private timerAt = Infinity;
  private isClosed = false;

  constructor(private readonly clock: Clock) {}

  /** Calls `run` at `at`, by the clock of the queue. If `at` is `Infinity`, the call never happens. */
  add(at: number, run: () => void): TimerEntry {
    const entry: TimerEntry = { at, index: -1, run };
    this.insert(entry);
    return entry;
  }

  /** Like `add`, for a limit on a reply: reads a reply that has arrived by `at` before it calls `run`. */
  addLimit(at: number, run: () => void): TimerEntry {
    let isDue = false;
    const limit = this.add(at, () => {
      if (isDue) return run();
      isDue = true;
      this.move(limit, this.clock.now() + READING_TIME);
    });
    return limit;
  }

  /** Sets the time of an entry. The entry may be new, have run, or be cancelled. */
  move(entry: TimerEntry, at: number): void {
    this.cancel(entry);
    entry.at = at;
    this.insert(entry);
  }

  cancel(entry: TimerEntry | undefined): void {
    if (entry === undefined || entry.index < 0) return;
    const { index } = entry;
    const last = this.heap.pop() as TimerEntry;
    entry.index = -1;
    if (this.isClosed && this.heap.length === 0) this.stop();
    if (last === entry) return;
    this.put(last, index);
    this.rise(last);
    this.sink(last);
  }

  /** Removes all entries. From now on the clock keeps no timer unless an entry is due: a call may still end. */
  close(): void {
    this.isClosed = true;
    for (const entry of this.heap) entry.index = -1;
    this.heap.length = 0;
    this.stop();
  }

  private stop(): void {
    this.clock.clearTimer(this.timer);
    this.timerAt = Infinity;
  }

  private insert(entry: TimerEntry): void {
    if (entry.at === Infinity) return;
    this.put(entry, this.heap.length);
    this.rise(entry);
    if (entry.index === 0) this.wakeAt(entry.at);
  }

  private wakeAt(at: number): void {
    if (at >= this.timerAt) return;
    this.clock.clearTimer(this.timer);
    this.timerAt = at;
    const delay = Math.max(Math.ceil(at - this.clock.now()), 1);
    this.timer = this.clock.setTimer(delay, () => this.runDue());
  }

  private runDue(): void {
    this.timerAt = Infinity;
    const now = this.clock.now();
    let count = 0;
    try {
      for (let first = this.heap[0]; first !== undefined && first.at <= now; first = this.heap[0]) {
        this.cancel(first);
        first.run();
        count += 1;
        if (count % CALLBACKS_PER_LOOK === 0 && this.clock.now() - now >= SLICE) break;
      }
    } finally {
      const first = this.heap[0];
      if (first !== undefined) this.wakeAt(first.at);
    }
  }

  private put(entry: TimerEntry, index: number): void {
    this.heap[index] = entry;
    entry.index = index;
  }

  private rise(entry: TimerEntry): void {
    while (entry.index > 0) {
      const { index } = entry;
      const parent = this.heap[(index - 1) >> 1] as TimerEntry;
      if (parent.at <= entry.at) return;
      this.put(entry, parent.index);
      this.put(parent, index);
    }
  }

  private sink(entry: TimerEntry): void {
    for (;;) {
      const { index } = entry;
      const left = this.heap[2 * index + 1];
      const right = this.heap[2 * index + 2];
      const child = right !== undefined && left !== undefined && right.at < left.at ? right : left;
      if (child === undefined || child.at >= entry.at) return;
      this.put(entry, child.index);
      this.put(child, index);
    }
  }
}
