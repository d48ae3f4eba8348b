import { setTimeout as sleep } from 'node:timers/promises';

const EVERY = 40;
const LEASE = 300;

/**
 * Takes and gives back a lock that nobody else wants, again and again: as long as that works at once, the client is
 * served. From the pulse it is told how long a fault was felt.
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
    // Of all lives of a client the same: the next one finds what the last one has left.
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
      await sleep(EVERY);
    }
  }

  async #once() {
    try {
      const handle = await this.#service.tryAcquire(this.#key, { expire: LEASE });
      return (await handle?.release()) ?? false;
    } catch {
      return false;
    }
  }
}
