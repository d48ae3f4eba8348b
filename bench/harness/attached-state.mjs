import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { SharedState } from './shared-state.mjs';

/**
 * The file of a `MappedState`, for a thread that competes with processes of another language. Node cannot map the file,
 * so each change is a file call on the same pages.
 *
 * A file call cannot add atomically. Words that callers change at any time are therefore in the slot of the thread. The
 * other words change only within a section, so they are right as long as the lock excludes. If it does not, the
 * counter loses updates. Gaps are not measured.
 */
export class AttachedState extends SharedState {
  #slot;
  #file;
  #word = new Int32Array(1);

  constructor({ path, slot }) {
    super(new ArrayBuffer(SharedState.BYTES));
    this.clearTimes();
    this.#slot = slot;
    this.#file = openSync(path, 'r+');
  }

  get(word) {
    readSync(this.#file, this.#word, 0, 4, SharedState.byteOf(word));
    return this.#word[0];
  }

  set(word, value) {
    this.#word[0] = value;
    writeSync(this.#file, this.#word, 0, 4, SharedState.byteOf(word));
  }

  add(word, n) {
    const own = SharedState.ownWord(word, this.#slot);
    const sum = this.get(own) + n;
    this.set(own, sum);
    return sum;
  }

  get stopped() {
    readSync(this.#file, this.times, 0, SharedState.BYTES_OF_PHASES, 0);
    return super.stopped;
  }

  noteRelease() {}

  close() {
    closeSync(this.#file);
  }
}
