import { setTimeout as sleep } from 'node:timers/promises';
import { EXPIRES } from '../../testbed/history/leaks.mjs';

const EVERY = 200;
/** ms in which the leases of the dead have ended, and their places are stale; and so many `commandTimeout`s. */
const PATIENCE = 12_900;
const PATIENT_COMMANDS = 3;

/** Nothing, where a server is away for long. */
const inTime = (work) => Promise.race([work, sleep(EVERY * 5, undefined, { ref: false })]).catch(() => undefined);

/** Checks the contents of Redis: every entry has an expiry while the run lasts, and nothing is left after it. */
export class LeftoverWatch {
  #topology;
  #history;
  #running = Promise.resolve();
  #stopped = false;
  #patience = PATIENCE;

  constructor(topology, history) {
    this.#topology = topology;
    this.#history = history;
  }

  begin({ commandTimeout }) {
    this.#patience = PATIENCE + PATIENT_COMMANDS * commandTimeout;
    this.#running = (async () => {
      while (!this.#stopped) {
        const keys = (await inTime(this.#topology.keysLeft())) ?? [];
        const eternal = keys.filter(({ ttl }) => ttl === -1).map(({ key }) => key);
        if (eternal.length > 0) this.#history.note('eternal', { keys: eternal });
        const revived = (await inTime(this.#topology.revived?.() ?? [])) ?? [];
        if (revived.length > 0) this.#history.note('revived', { holds: revived });
        await sleep(EVERY);
      }
    })();
  }

  stop() {
    this.#stopped = true;
  }

  /** Waits until nothing is left, and notes the entries that still remain when the time is up. */
  async finish() {
    this.stop();
    await this.#running;
    const end = performance.now() + this.#patience;
    for (;;) {
      const keys = await this.#topology.keysLeft();
      const left = keys.filter(({ key, ttl }) => ttl === -1 || !EXPIRES.test(key)).map(({ key }) => key);
      if (left.length === 0 || performance.now() > end) return this.#history.note('left', { keys: left });
      await sleep(EVERY);
    }
  }
}
