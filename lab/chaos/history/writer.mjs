import { closeSync, openSync, writeSync } from 'node:fs';

/**
 * Writes down events, as lines of JSON. Each line has reached the kernel before anything else happens in the process,
 * so that a process that is killed has left all that it knew.
 */
export class HistoryWriter {
  #file;
  #now;
  #who;

  constructor(path, now, who = {}) {
    this.#file = openSync(path, 'a');
    this.#now = now;
    this.#who = who;
  }

  /** Notes an event; `at` is now unless the event says another time. */
  note(type, details = {}) {
    const event = { at: this.#now(), type, ...this.#who, ...details };
    writeSync(this.#file, `${JSON.stringify(event)}\n`);
    return event;
  }

  close() {
    closeSync(this.#file);
  }
}
