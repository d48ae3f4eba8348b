// @ts-check
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SHORT_LIVED } from '../../../scripts/lib/short-lived.mjs';
import { SuspendedMachine } from '../clocks/suspended-machine.mjs';
import { Guard } from '../servers/guard.mjs';

const PATIENCE = 60_000;

/**
 * A message from a worker: an answer to a call, or an event with its details.
 * @typedef {{ readonly event?: string, readonly [detail: string]: unknown }} WorkerMessage
 *
 * @typedef {{ readonly code: number | null, readonly signal: NodeJS.Signals | null }} WorkerExit
 *
 * @typedef {object} WorkerOptions
 * @property {readonly string[]} [args]
 * @property {readonly string[]} [nodeArgs]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {boolean} [canBeSuspended] whether `suspend` and `wake` work; Linux only
 *
 * @typedef {object} Listener
 * @property {(message: WorkerMessage) => boolean} predicate
 * @property {(settled: WorkerMessage | Error) => void} settle
 */

/**
 * Starts `file` (a script that uses `worker-kit.mjs`) as a process of its own and resolves when it is ready. It ends
 * with this process at the latest.
 * @param {string | URL} file
 * @param {WorkerOptions} [options]
 */
export async function startWorker(file, options) {
  const worker = new WorkerProcess(file, options);
  await worker.next(({ event }) => event === 'ready');
  return worker;
}

/** A child process that a test or a laboratory talks to, stalls, suspends and kills. */
export class WorkerProcess {
  #child;
  #guard = new Guard();
  /** @type {SuspendedMachine | undefined} */
  #machine;
  /** @type {WorkerMessage[]} */
  #unread = [];
  /** @type {Set<Listener>} */
  #listeners = new Set();
  #name;
  #callCount = 0;

  /** @param {string | URL} file @param {WorkerOptions} [options] */
  constructor(file, { args = [], nodeArgs = [], env = {}, canBeSuspended = false } = {}) {
    const path = typeof file === 'string' ? file : fileURLToPath(file);
    this.#name = path.replace(/^.*\//, '');
    if (canBeSuspended) this.#machine = new SuspendedMachine();
    this.#child = fork(path, args, {
      execArgv: [...SHORT_LIVED, ...nodeArgs],
      env: { ...process.env, NODE_OPTIONS: '', ...env, ...this.#machine?.env },
      // Passes on Map, Infinity and the like.
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    });
    this.#guard.watch(`kill -9 ${String(this.#child.pid)}`);
    this.#child.on('message', (message) => this.#received(/** @type {WorkerMessage} */ (message)));
    /**
     * Resolves when the process has ended.
     * @type {Promise<WorkerExit>}
     */
    this.exited = new Promise((resolve) => {
      const ended = (/** @type {number | null} */ code, /** @type {NodeJS.Signals | null} */ signal) => {
        this.#guard.release();
        void this.#guard.dispose();
        this.#machine?.[Symbol.dispose]();
        this.#machine = undefined;
        this.#failListeners(new Error(`${this.#name} ended (${signal ?? `exit code ${String(code)}`})`));
        resolve({ code, signal });
      };
      this.#child.once('exit', ended);
      this.#child.once('error', () => ended(null, null));
    });
  }

  get pid() {
    return this.#child.pid;
  }

  get isRunning() {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Sends a message, such as `{ method, args }` for a call whose answer does not matter.
   * @param {object} message
   */
  send(message) {
    // The channel may be closing: a caller that waits for an answer learns of it from the exit.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  /**
   * Calls a method of the worker and resolves to its result; rejects with its error, `code` included.
   * @template [T=any]
   * @param {string} method
   * @param {...unknown} args
   * @returns {Promise<T>}
   */
  async call(method, ...args) {
    const id = ++this.#callCount;
    const answered = this.next((message) => message['id'] === id, Infinity);
    this.send({ id, method, args });
    const { result, error } = await answered;
    if (error) throw Object.assign(new Error(Reflect.get(error, 'message')), error);
    return /** @type {T} */ (result);
  }

  /**
   * The first message that fulfils the condition and was not taken yet, now or when it arrives.
   * @param {(message: WorkerMessage) => boolean} [predicate]
   * @param {number} [within] ms
   * @returns {Promise<WorkerMessage>}
   */
  next(predicate = () => true, within = PATIENCE) {
    const index = this.#unread.findIndex(predicate);
    if (index !== -1) return Promise.resolve(/** @type {WorkerMessage} */ (this.#unread.splice(index, 1)[0]));
    if (!this.isRunning) return Promise.reject(new Error(`${this.#name} has ended`));
    return new Promise((resolve, reject) => {
      const late = () => {
        this.#listeners.delete(listener);
        reject(new Error(`${this.#name} did not say what was awaited within ${within} ms`));
      };
      const timer = within === Infinity ? undefined : setTimeout(late, within);
      /** @type {Listener} */
      const listener = {
        predicate,
        settle: (settled) => {
          clearTimeout(timer);
          if (settled instanceof Error) reject(settled);
          else resolve(settled);
        },
      };
      this.#listeners.add(listener);
    });
  }

  /** Stalls the process: it does nothing, and its connections stay open. */
  pause() {
    this.#child.kill('SIGSTOP');
  }

  resume() {
    this.#child.kill('SIGCONT');
  }

  /**
   * Stops the process as a machine does that sleeps: its clock and its timers do not count the time until `wake`. Resolves
   * when the process does nothing any more.
   */
  suspend() {
    return this.#machineOf('suspend').suspend(/** @type {number} */ (this.pid));
  }

  wake() {
    this.#machineOf('wake').resume(/** @type {number} */ (this.pid));
  }

  /**
   * Ends the process: at once, or as `signal` says.
   * @param {NodeJS.Signals} [signal]
   */
  async kill(signal = 'SIGKILL') {
    if (this.isRunning) {
      // A stalled process takes no other signal before it resumes.
      if (signal !== 'SIGKILL') this.resume();
      this.#child.kill(signal);
    }
    return this.exited;
  }

  async [Symbol.asyncDispose]() {
    await this.kill();
  }

  /** @param {string} method */
  #machineOf(method) {
    if (this.#machine === undefined)
      throw new Error(`${this.#name}: ${method}() needs a process that can be suspended`);
    return this.#machine;
  }

  /** @param {WorkerMessage} message */
  #received(message) {
    for (const listener of this.#listeners) {
      if (!listener.predicate(message)) continue;
      this.#listeners.delete(listener);
      listener.settle(message);
      return;
    }
    this.#unread.push(message);
  }

  /** @param {Error} error */
  #failListeners(error) {
    for (const { settle } of this.#listeners) settle(error);
    this.#listeners.clear();
  }
}
