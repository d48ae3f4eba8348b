// @ts-check

/** Runs its actions in the order in which they were added, each after the delay of its moment. */
export class DelayedLine {
  /** @type {Array<{ due: number, action: () => void }>} */
  #queue = [];
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #delay;
  #isHeld;

  /**
   * @param {() => number} delay in ms
   * @param {() => boolean} isHeld
   */
  constructor(delay, isHeld) {
    this.#delay = delay;
    this.#isHeld = isHeld;
  }

  /** @param {() => void} action */
  push(action) {
    // A shorter delay must not let the later one overtake.
    const earliest = this.#queue.at(-1)?.due ?? 0;
    this.#queue.push({ due: Math.max(earliest, performance.now() + this.#delay()), action });
    this.flush();
  }

  /** Runs the actions that are due; call it when the line is not held any more. */
  flush() {
    clearTimeout(this.#timer);
    while (!this.#isHeld()) {
      const next = this.#queue[0];
      if (next === undefined) return;
      const wait = next.due - performance.now();
      if (wait > 0) {
        this.#timer = setTimeout(() => this.flush(), Math.ceil(wait));
        return;
      }
      this.#queue.shift();
      next.action();
    }
  }

  clear() {
    clearTimeout(this.#timer);
    this.#queue.length = 0;
  }
}
