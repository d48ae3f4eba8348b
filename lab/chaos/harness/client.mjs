import { join } from 'node:path';
import { WorkerProcess } from '../../testbed/workers/processes.mjs';

const WORKER = new URL('../clients/worker.mjs', import.meta.url);
/** Elsewhere clocks count the time for which a machine is suspended. */
const canBeSuspended = process.platform === 'linux';

const createWorker = () => new WorkerProcess(WORKER, { canBeSuspended });

/** A client of the run: a process, and the next one after it was killed. Its lives are numbered: `c1.1`, `c1.2`. */
export class Client {
  /** The process of its present life. */
  process;
  #name;
  #files;
  #create;
  #settings;
  #life = 0;

  /**
   * `settings` are those of `worker.mjs`; the history of a life is written into `directory`. `create` starts another
   * process than that, with the same methods.
   */
  constructor(name, { directory, history, create = createWorker, ...settings }) {
    this.#name = name;
    this.#files = { directory, history };
    this.#create = create;
    this.#settings = settings;
  }

  async start() {
    this.#life += 1;
    const client = this.#named;
    this.process = this.#create();
    await this.call('start', { ...this.#settings, client, file: join(this.#files.directory, `${client}.jsonl`) });
  }

  async kill() {
    await this.process.kill();
    this.#files.history.note('down', { client: this.#named });
  }

  call(method, ...args) {
    return this.process.call(method, ...args);
  }

  async end() {
    if (this.process?.isRunning) await this.process.kill();
  }

  get #named() {
    return `${this.#name}.${this.#life}`;
  }
}
