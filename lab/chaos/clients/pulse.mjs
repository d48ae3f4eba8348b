import { setTimeout as sleep } from 'node:timers/promises';

/** In ms: between two beats, and the lease of one. */
export const PULSE = { every: 40, lease: 300 };

/**
 * Acquires and releases an uncontended lock, again and again: as long as that works at once, the client is served. The
 * pulse shows how long a fault was felt.
 */
export class Pulse {
  #service;
  #history;
  #now;
  #key;
  #stopped = false;
  #beating;

  constructor({ service, history, now, client }) {
    this.#service = service;
    this.#history = history;
    this.#now = now;
    // The same for all lives of a client: the next one finds the lock that the last one has left.
    this.#key = `pulse:${client.split('.')[0]}`;
    this.#beating = this.#beat();
  }

  stop() {
    this.#stopped = true;
    return this.#beating;
  }

  async #beat() {
    while (!this.#stopped) {
      const from = this.#now();
      this.#history.note('pulse', { from, ok: await this.#once() });
      await sleep(PULSE.every);
    }
  }

  async #once() {
    try {
      const handle = await this.#service.tryAcquire(this.#key, { expire: PULSE.lease });
      return (await handle?.release()) ?? false;
    } catch {
      return false;
    }
  }
}
