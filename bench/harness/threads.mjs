import { Worker } from 'node:worker_threads';

const WORKER = new URL('./worker.mjs', import.meta.url);

/** Threads that are started when they are first needed and go on to the next measurement. */
export class Threads {
  #threads = [];

  async take(count) {
    while (this.#threads.length < count) this.#threads.push(new Thread());
    const taken = this.#threads.slice(0, count);
    await Promise.all(taken.map((thread) => thread.call('ready')));
    return taken;
  }

  /** Threads whose library does not come to an end; others take their place. */
  async drop(threads) {
    this.#threads = this.#threads.filter((thread) => !threads.includes(thread));
    await Promise.all(threads.map((thread) => thread.end()));
  }

  end() {
    return this.drop(this.#threads);
  }
}

export class Thread {
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
