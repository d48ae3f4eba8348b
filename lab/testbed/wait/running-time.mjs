// @ts-check
/** ms between two looks at the time. */
const TICK = 5;
/** ms by which a timer is late on a machine that has nothing else to do. */
const USUAL = 2;

// A test may replace the timers of the process.
const { setTimeout, clearTimeout } = globalThis;
const now = performance.now.bind(performance);

/**
 * What one timer sees for all stopwatches that run: a test may use a thousand of them at a time.
 */
const watch = {
  running: 0,
  looked: 0,
  used: process.cpuUsage(),
  /** ms for which this process had something to do, and had to wait for its turn. */
  heldUp: 0,
  /** @type {NodeJS.Timeout | undefined} */
  timer: undefined,

  begin() {
    if (this.running++ > 0) return this.look();
    [this.looked, this.used] = [now(), process.cpuUsage()];
    this.tick();
  },

  end() {
    this.look();
    if (--this.running === 0) clearTimeout(this.timer);
  },

  tick() {
    this.timer = setTimeout(() => {
      this.look();
      this.tick();
    }, TICK).unref();
  },

  look() {
    const time = now();
    const late = time - this.looked - TICK;
    if (late > USUAL) {
      // Time that this process spent on its own computation is no fault of the machine.
      const { user, system } = process.cpuUsage(this.used);
      this.heldUp += Math.max(0, late - (user + system) / 1_000);
    }
    [this.looked, this.used] = [time, process.cpuUsage()];
  },
};

/**
 * A stopwatch that tells, beside the time that went by, how much of it the machine let this process run. On a machine
 * that has other things to do a process waits for its turn, and limits that state a promise do not speak of that.
 */
export class RunningTime {
  #since = now();
  #before;
  /** @type {number | undefined} */
  #heldUp;

  constructor() {
    watch.begin();
    this.#before = watch.heldUp;
  }

  /** ms that have gone by. */
  get took() {
    return now() - this.#since;
  }

  /** The same without the time for which this process had something to do, and had to wait for its turn. */
  get ran() {
    return this.took - (this.#heldUp ?? watch.heldUp - this.#before);
  }

  /** Looks no more; answers itself. */
  stop() {
    if (this.#heldUp === undefined) {
      watch.end();
      this.#heldUp = watch.heldUp - this.#before;
    }
    return this;
  }
}
