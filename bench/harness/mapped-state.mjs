import { closeSync, existsSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SharedState } from './shared-state.mjs';

/** In memory, where the system has such a directory: a file on a disk is written back while it is measured. */
const MEMORY = '/dev/shm';
const DIRECTORY = existsSync(MEMORY) ? MEMORY : tmpdir();

/**
 * The shared state of a measurement whose processes are programs of another language: in a file that they map into
 * their memory. They use it as threads use a SharedArrayBuffer, so the check costs the same. Node cannot map a file; it
 * writes and reads the same pages through file calls.
 */
export class MappedState extends SharedState {
  #directory = mkdtempSync(join(DIRECTORY, 'lock-bench-'));
  #bytes;
  #file;

  constructor() {
    const buffer = new ArrayBuffer(SharedState.BYTES);
    super(buffer);
    this.clearTimes();
    this.#bytes = new Uint8Array(buffer);
    this.path = join(this.#directory, 'state');
    this.#file = openSync(this.path, 'w+');
    this.#write(0, SharedState.BYTES);
  }

  /** What the other side needs to open it. */
  get shared() {
    return { state: this.path };
  }

  start() {
    super.start();
    this.#writeTimesAndPhase();
  }

  stop() {
    super.stop();
    this.#writeTimesAndPhase();
  }

  /** Reads what the processes have written. */
  refresh() {
    readSync(this.#file, this.#bytes, 0, SharedState.BYTES, 0);
  }

  close() {
    closeSync(this.#file);
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #writeTimesAndPhase() {
    // The processes write the time of the last release, which comes behind these two.
    this.#write(0, SharedState.BYTES_OF_PHASES);
    this.#write(SharedState.PHASE_AT, 4);
  }

  #write(from, length) {
    writeSync(this.#file, this.#bytes, from, length, from);
  }
}
