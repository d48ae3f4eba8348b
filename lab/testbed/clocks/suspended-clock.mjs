// @ts-check
// Preloaded (`node --import`) into a process that stands for one on a machine that is suspended: the monotonic clock and
// the timers do not count the time for which a `SuspendedMachine` has suspended it, as on Linux. The wall clock and the
// boot time go on. Does nothing unless a `SuspendedMachine` has started the process.
import { openSync, readSync } from 'node:fs';
import { promisify } from 'node:util';

/** This variable tells the process the path of the file with the state of its clocks. */
export const CLOCK_VARIABLE = 'TESTBED_SUSPENDED_CLOCK';

/** The contents of the file: for how many ms the process has been suspended, and how often. */
export const FIELDS = /** @type {const} */ (['suspended', 'resumptions']);

const file = process.env[CLOCK_VARIABLE];
const fields = new Float64Array(FIELDS.length);
const descriptor = file === undefined ? undefined : openSync(file, 'r');

/**
 * The state of the clocks, read from the file each time, so that the first line after the resume knows it.
 * @param {typeof FIELDS[number]} field
 */
function told(field) {
  if (descriptor !== undefined) readSync(descriptor, fields, 0, fields.byteLength, 0);
  return fields[FIELDS.indexOf(field)] ?? 0;
}

/** Answers a function that stays on its line until the process has been suspended and resumed once more, from now on. */
export function nextResume() {
  const before = told('resumptions');
  return () => {
    while (told('resumptions') === before);
  };
}

if (descriptor !== undefined) {
  const monotonic = performance.now.bind(performance);
  performance.now = () => monotonic() - told('suspended');
  suspendTimers();
}

/** Has timers wait for the rest of their time after a suspension, in which libuv's own go on. */
function suspendTimers() {
  const { setTimeout: set, clearTimeout: clear } = globalThis;

  class SuspendedTimeout {
    #work;
    #delay;
    #due = 0;
    /** @type {NodeJS.Timeout | undefined} */
    #timer;
    #isReferenced = true;

    /** @param {() => void} work @param {number} delay */
    constructor(work, delay) {
      this.#work = work;
      this.#delay = Math.max(1, Number(delay) || 1);
      this.refresh();
    }

    refresh() {
      this.#due = performance.now() + this.#delay;
      this.#wait(this.#delay);
      return this;
    }

    ref() {
      return this.#reference(true);
    }

    unref() {
      return this.#reference(false);
    }

    hasRef() {
      return this.#isReferenced;
    }

    close() {
      clear(this.#timer);
      return this;
    }

    /** @param {boolean} isReferenced */
    #reference(isReferenced) {
      this.#isReferenced = isReferenced;
      if (isReferenced) this.#timer?.ref();
      else this.#timer?.unref();
      return this;
    }

    /** @param {number} delay */
    #wait(delay) {
      clear(this.#timer);
      this.#timer = set(() => this.#fired(), delay);
      if (!this.#isReferenced) this.#timer.unref();
    }

    #fired() {
      const left = this.#due - performance.now();
      // Node's own timers come up to a millisecond early as well.
      if (left >= 1) this.#wait(left);
      else this.#work();
    }
  }

  globalThis.setTimeout = /** @type {any} */ (Object.assign)(
    (/** @type {(...args: unknown[]) => void} */ work, /** @type {number} */ delay, /** @type {unknown[]} */ ...args) =>
      new SuspendedTimeout(() => work(...args), delay),
    // Keeps `promisify(setTimeout)` as it was.
    { [promisify.custom]: Reflect.get(set, promisify.custom) },
  );
  globalThis.clearTimeout = (timer) => (timer instanceof SuspendedTimeout ? timer.close() : clear(timer));
}
