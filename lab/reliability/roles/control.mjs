import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

/** A question that takes longer, in ms, was held up by a machine that had other things to do. */
const PROMPT = 30;

/**
 * Sends requests to an undisturbed server, all the time: if that is slow, the machine is slow, and no fault is the
 * cause.
 */
export class Control {
  #client;
  #stalls = [];
  #stopped = false;
  #done;

  constructor({ host, port }) {
    this.#client = new Redis({ host, port });
    this.#done = this.#ask();
  }

  async #ask() {
    while (!this.#stopped) {
      const begin = performance.now();
      await this.#client.ping();
      await sleep(5);
      const end = performance.now();
      if (end - begin > PROMPT) this.#stalls.push({ begin: begin + PROMPT, end });
    }
  }

  /** For how many ms of a span the machine was held up. */
  heldUp(from, to) {
    let sum = 0;
    for (const { begin, end } of this.#stalls) sum += Math.max(0, Math.min(end, to) - Math.max(begin, from));
    return sum;
  }

  async stop() {
    this.#stopped = true;
    await this.#done;
    this.#client.disconnect();
  }
}
