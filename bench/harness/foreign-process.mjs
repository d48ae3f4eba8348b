import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PROGRAMS } from '../foreign/programs.mjs';
import { loadLibrary } from '../libraries/index.mjs';
import { now } from './shared-state.mjs';

/** The clocks differ by no more than a message needs, in ms, if both sides read the same one. */
const SAME_CLOCK = 60_000;
const CALLS_BEFORE_READY = 0;

/** A process of a program of another language. It has the methods of a thread (worker.mjs). */
export class ForeignProcess {
  #child;
  #calls = new Map();
  #count = CALLS_BEFORE_READY;
  #errors = '';
  /** Variants for which it has been warmed up. */
  warm = new Set();

  constructor(program) {
    const [command, args] = PROGRAMS[program].start;
    this.#child = spawn(command, args);
    this.ready = this.#answerOf(CALLS_BEFORE_READY);
    this.ready.catch(() => undefined);
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#answered(line));
    this.#child.stderr.on('data', (data) => (this.#errors = `${this.#errors}${data}`.slice(0, 2_000)));
    // A write to a process that has ended; its end says it all.
    this.#child.stdin.on('error', () => undefined);
    const failed = (why) => {
      const error = new Error(`${command.split('/').at(-1)} ${why}. ${this.#errors.split('\n')[0]}`.trim());
      for (const { reject } of this.#calls.values()) reject(error);
      this.#calls.clear();
    };
    this.#child.once('error', ({ message }) => failed(`does not start: ${message}`));
    this.#child.once('exit', (code, signal) => failed(`has ended (${signal ?? code})`));
  }

  async open({ state, slot, library, variant, host, port }) {
    const { kind, variants } = await loadLibrary(library);
    const { settings } = variants[variant];
    await this.openClient({ state, slot, host, port, kind, ...settings });
  }

  async openClient(terms) {
    const clock = await this.call('open', terms);
    if (Math.abs(clock - now()) > SAME_CLOCK)
      throw new Error('the clock of the process is another one than that of Node');
  }

  /** `args` are words, or objects: named settings. */
  call(method, ...args) {
    const id = ++this.#count;
    const words = args.flatMap((arg) => (typeof arg === 'object' ? named(arg) : String(arg)));
    this.#child.stdin.write(`${[id, method, ...words].join(' ')}\n`);
    return this.#answerOf(id);
  }

  async end() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  #answerOf(id) {
    return new Promise((resolve, reject) => this.#calls.set(id, { resolve, reject }));
  }

  #answered(line) {
    const [, id, outcome, text] = /^(\d+) (ok|error) ?(.*)$/.exec(line) ?? [];
    const call = this.#calls.get(Number(id));
    if (call === undefined) return;
    this.#calls.delete(Number(id));
    if (outcome === 'ok') call.resolve(text === '' ? undefined : JSON.parse(text));
    else call.reject(new Error(text));
  }
}

const named = (settings) =>
  Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`);
