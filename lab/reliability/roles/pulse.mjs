import { setTimeout as sleep } from 'node:timers/promises';

/** A call that takes longer, in ms, is not normal service. */
export const NORMAL = 250;
/** For how many ms a caller does something else before it tries again after a failure. */
const AFTER_FAILURE = 100;

/** Makes a call again and again, and writes down how each of them went. */
export class Pulse {
  /** `{ begin, end, error }`, by `performance.now()`. */
  calls = [];
  #call;
  #control;
  #pause;
  #current;
  #stopping = new AbortController();
  #done;

  constructor(call, { control, pause = 20 }) {
    this.#call = call;
    this.#control = control;
    this.#pause = pause;
    this.#done = this.#beat();
  }

  async #beat() {
    while (!this.#stopping.signal.aborted) {
      const call = { begin: performance.now() };
      this.#current = call;
      try {
        await this.#call();
      } catch (error) {
        call.error = error;
      }
      call.end = performance.now();
      this.#current = undefined;
      this.calls.push(call);
      await sleep(call.error === undefined ? this.#pause : AFTER_FAILURE);
    }
  }

  /** Since when all calls have been normal; Infinity while one takes too long. */
  get normalSince() {
    const current = this.#current;
    if (current !== undefined && !this.#isNormal({ ...current, end: performance.now() })) return Infinity;
    return this.calls.findLast((call) => !this.#isNormal(call))?.end ?? -Infinity;
  }

  /** Ends with the call that is under way. */
  stop() {
    this.#stopping.abort();
    return this.#done;
  }

  /** ms from a moment to the end of the first call from which on all were normal, until another moment. */
  recovery(since, until) {
    const calls = this.calls.filter(({ end }) => end > since && end <= until);
    const first = calls.findLastIndex((call) => !this.#isNormal(call)) + 1;
    return calls[first] === undefined ? Infinity : calls[first].end - since;
  }

  /** How many calls have failed since a moment, by the code of the error. */
  failures(since) {
    const codes = {};
    for (const { end, error } of this.calls) {
      if (end <= since || error === undefined) continue;
      const code = error.code ?? error.name;
      codes[code] = (codes[code] ?? 0) + 1;
    }
    return codes;
  }

  /** Without the time for which the machine was held up. */
  #isNormal({ begin, end, error }) {
    return error === undefined && end - begin - this.#control.heldUp(begin, end) <= NORMAL;
  }
}
