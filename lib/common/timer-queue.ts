import type { Clock } from './clock.js';

/** ms after which a limit is over for good: the clock has what has arrived read before its timers, also after a stall. */
export const READING_TIME = 2;

/** Something to be done at a time; given to `Agenda.cancel` and `Agenda.move`. */
export interface TimerEntry {
  at: number;
  readonly run: () => void;
  /** Place in the heap; -1: not in it. */
  place: number;
}

/**
 * Everything that is to be done later, over one timer: a binary heap of appointments. A waiter, a hold and a question
 * to be asked again each cost an entry here instead of a timer of their own.
 */
export class TimerQueue {
  private readonly heap: TimerEntry[] = [];
  private timer: unknown;
  private timerAt = Infinity;

  constructor(private readonly clock: Clock) {}

  /** Has `run` called at `at`, on the timers's clock. An endless `at` is never reached. */
  add(at: number, run: () => void): TimerEntry {
    const appointment: TimerEntry = { at, run, place: -1 };
    this.insert(appointment);
    return appointment;
  }

  /** As `add`, for a limit on an answer: an answer that has arrived by `at` is read first, also after a stall. */
  addLimit(at: number, run: () => void): TimerEntry {
    let looked = false;
    const limit = this.add(at, () => {
      if (looked) return run();
      looked = true;
      this.move(limit, this.clock.now() + READING_TIME);
    });
    return limit;
  }

  /** Gives an appointment another time, whether or not it has been kept or cancelled. */
  move(appointment: TimerEntry, at: number): void {
    this.cancel(appointment);
    appointment.at = at;
    this.insert(appointment);
  }

  cancel(appointment: TimerEntry | undefined): void {
    if (appointment === undefined || appointment.place < 0) return;
    const { place } = appointment;
    const last = this.heap.pop() as TimerEntry;
    appointment.place = -1;
    if (last === appointment) return;
    this.put(last, place);
    this.rise(last);
    this.sink(last);
  }

  /** Forgets everything. */
  clear(): void {
    for (const appointment of this.heap) appointment.place = -1;
    this.heap.length = 0;
    this.clock.clearTimer(this.timer);
    this.timerAt = Infinity;
  }

  private insert(appointment: TimerEntry): void {
    if (appointment.at === Infinity) return;
    this.put(appointment, this.heap.length);
    this.rise(appointment);
    if (appointment.place === 0) this.wakeAt(appointment.at);
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
    try {
      for (let first = this.heap[0]; first !== undefined && first.at <= now; first = this.heap[0]) {
        this.cancel(first);
        first.run();
      }
    } finally {
      const first = this.heap[0];
      if (first !== undefined) this.wakeAt(first.at);
    }
  }

  private put(appointment: TimerEntry, place: number): void {
    this.heap[place] = appointment;
    appointment.place = place;
  }

  private rise(appointment: TimerEntry): void {
    while (appointment.place > 0) {
      const place = appointment.place;
      const parent = this.heap[(place - 1) >> 1] as TimerEntry;
      if (parent.at <= appointment.at) return;
      this.put(appointment, parent.place);
      this.put(parent, place);
    }
  }

  private sink(appointment: TimerEntry): void {
    for (;;) {
      const place = appointment.place;
      const left = this.heap[2 * place + 1];
      const right = this.heap[2 * place + 2];
      const child = right !== undefined && left !== undefined && right.at < left.at ? right : left;
      if (child === undefined || child.at >= appointment.at) return;
      this.put(appointment, child.place);
      this.put(child, place);
    }
  }
}
