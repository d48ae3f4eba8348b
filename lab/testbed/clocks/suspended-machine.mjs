// @ts-check
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLOCK_VARIABLE, FIELDS } from './suspended-clock.mjs';

/** ms between two looks whether a process has stopped. */
const LOOK = 1;

/**
 * A machine with one process that can be suspended: the process is stopped, and neither its monotonic clock nor its timers
 * count that time; its wall clock and `os.uptime()` do. Linux only, as `os.uptime()` is the real one.
 */
export class SuspendedMachine {
  #directory = mkdtempSync(join(tmpdir(), 'locks-clock-'));
  #file = join(this.#directory, 'clock');
  #descriptor = openSync(this.#file, 'w');
  /** @type {Record<typeof FIELDS[number], number>} */
  #clock = { suspended: 0, resumptions: 0 };
  #suspendedAt = 0;

  constructor() {
    this.#tell();
  }

  /** The environment in which its process must be started. */
  get env() {
    const preload = new URL('suspended-clock.mjs', import.meta.url).href;
    return { [CLOCK_VARIABLE]: this.#file, NODE_OPTIONS: `--import ${preload}` };
  }

  /**
   * Suspends the machine of a process; resolves when the process no longer runs.
   * @param {number} pid
   */
  async suspend(pid) {
    process.kill(pid, 'SIGSTOP');
    while (!isStopped(pid)) await sleep(LOOK);
    this.#suspendedAt = performance.now();
  }

  /** Resumes it. @param {number} pid */
  resume(pid) {
    this.#clock.suspended += performance.now() - this.#suspendedAt;
    this.#clock.resumptions += 1;
    this.#tell();
    process.kill(pid, 'SIGCONT');
  }

  [Symbol.dispose]() {
    closeSync(this.#descriptor);
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #tell() {
    writeSync(
      this.#descriptor,
      Float64Array.from(FIELDS, (field) => this.#clock[field]),
      0,
      undefined,
      0,
    );
  }
}

/** @param {number} pid */
function isStopped(pid) {
  // The name of the program stands in brackets before the state, and may have brackets itself.
  const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return status.slice(status.lastIndexOf(')') + 2).startsWith('T');
}
