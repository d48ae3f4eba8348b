// @ts-check
/** ms between two looks at the time. */
const TICK = 5;
/** ms by which a timer is late on a machine that has nothing else to do. */
const USUAL = 2;

/**
 * A stopwatch that tells, beside the time that went by, how much of it the machine let this process run. On a machine
 * that has other things to do a process waits for its turn, and limits that state a promise do not speak of that.
 */
export class RunningTime {
  #since = performance.now();
  #looked = this.#since;
  #used = process.cpuUsage();
  #heldUp = 0;
  #timer = setTimeout(() => this.#tick(), TICK).unref();

  /** ms that have gone by. */
  get took() {
    return performance.now() - this.#since;
  }

  /** The same without the time for which this process had something to do, and had to wait for its turn. */
  get ran() {
    return this.took - this.#heldUp;
  }

  /** Looks no more; answers itself. */
  stop() {
    clearTimeout(this.#timer);
    this.#look();
    return this;
  }

  #tick() {
    this.#look();
    this.#timer = setTimeout(() => this.#tick(), TICK).unref();
  }

  #look() {
    const now = performance.now();
    const used = process.cpuUsage();
    const late = now - this.#looked - TICK;
    const computed = (used.user - this.#used.user + used.system - this.#used.system) / 1_000;
    // Time that this process spent on its own computation is no fault of the machine.
    if (late > USUAL) this.#heldUp += Math.max(0, late - computed);
    this.#looked = now;
    this.#used = used;
  }
}
