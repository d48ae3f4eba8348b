import { Worker } from 'node:worker_threads';
import { SharedState } from './shared-state.mjs';
import { warmUp } from './warm-up.mjs';

const WORKER = new URL('./worker.mjs', import.meta.url);

/**
 * Threads that are started when they are first needed and go on to the next measurement of the same library. Libraries
 * share none: the leftovers of one, such as an AsyncLocalStorage, which makes all promises more expensive, would slow
 * the others.
 */
export class Threads {
  #threads = new Map();

  newState() {
    return new SharedState();
  }

  open(thread, terms) {
    return thread.call('open', terms);
  }

  /** The variants of a library run the same code. */
  warmUp(taken, { terms, timing }) {
    return warmUp(taken, { kind: 'thread', name: terms.mode, terms, timing });
  }

  /** Seconds of CPU that all threads have used. Idle threads use none. */
  async cpu() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }

  async take(count, library) {
    const threads = this.#threads.get(library) ?? [];
    this.#threads.set(library, threads);
    while (threads.length < count) threads.push(new Thread());
    const taken = threads.slice(0, count);
    await Promise.all(taken.map((thread) => thread.call('ready')));
    return taken;
  }

  /** Threads whose library does not come to an end; others take their place. */
  async drop(dropped) {
    for (const [library, threads] of this.#threads) {
      const kept = threads.filter((thread) => !dropped.includes(thread));
      this.#threads.set(library, kept);
    }
    await Promise.all(dropped.map((thread) => thread.end()));
  }

  end() {
    return this.drop([...this.#threads.values()].flat());
  }
}

export class Thread {
  /** Modes of its library for which it has been warmed up. */
  warm = new Set();
  #worker;
  #calls = new Map();
  #count = 0;

  constructor(file = WORKER, options = {}) {
    this.#worker = new Worker(file, options);
    this.#worker.on('message', ({ id, result, error }) => {
      const { resolve, reject } = this.#calls.get(id);
      this.#calls.delete(id);
      if (error) reject(Object.assign(new Error(error.message), error));
      else resolve(result);
    });
    const failed = (error) => {
      for (const { reject } of this.#calls.values()) reject(error);
      this.#calls.clear();
    };
    this.#worker.on('error', failed);
    this.#worker.on('exit', () => failed(new Error('a thread has ended')));
  }

  call(method, ...args) {
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#worker.postMessage({ id, method, args });
    });
  }

  async end() {
    await this.#worker.terminate();
  }
}
