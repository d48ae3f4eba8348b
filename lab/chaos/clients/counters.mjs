import { closeSync, constants, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const DIGITS = 12;

/** The file with the counter of a key. Its name is the key, which a client of Redisson finds there as well. */
const fileOf = (directory, key, flags) => openSync(join(directory, key), flags);

/** Sets the counters of all keys to 0. */
export function startCounters(directory, keys) {
  mkdirSync(directory);
  for (const key of keys) {
    const file = fileOf(directory, key, 'w');
    writeSync(file, '0'.repeat(DIGITS));
    closeSync(file);
  }
}

/**
 * A counter for each key, outside of Redis: no fault delays a write. A holder reads it, and writes one more before its release.
 * Without exclusion, an update gets lost. As no token protects the counter, a holder that is stopped right before its write spoils it:
 * the history shows that the write was too late.
 */
export class Counters {
  #directory;
  #history;
  #files = new Map();

  constructor(directory, history) {
    this.#directory = directory;
    this.#history = history;
  }

  read(key) {
    const digits = Buffer.alloc(DIGITS);
    readSync(this.#of(key), digits, 0, DIGITS, 0);
    return Number(digits);
  }

  /** Writes `value`, and notes the time before and after it. */
  write(op, key, value) {
    this.#history.note('update', { op, key, phase: 'begin', value });
    writeSync(this.#of(key), String(value).padStart(DIGITS, '0'), 0);
    this.#history.note('update', { op, key, phase: 'end' });
  }

  #of(key) {
    if (!this.#files.has(key)) this.#files.set(key, fileOf(this.#directory, key, constants.O_RDWR));
    return this.#files.get(key);
  }
}
