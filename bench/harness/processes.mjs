import { loadLibrary } from '../libraries/index.mjs';
import { ForeignProcess } from './foreign-process.mjs';
import { MappedState } from './mapped-state.mjs';

/** How long a process runs on free keys before its first measurement of a variant, in ms. */
const WARM_UP = { full: 4_000, quick: 300 };

/**
 * The processes of programs of other languages, with the methods of `Threads`. They are started when they are first
 * needed and go on to the next measurement: a JVM gets faster for a time. All libraries of a program share them.
 */
export class Processes {
  #processes = new Map();

  newState() {
    return new MappedState();
  }

  async take(count, library) {
    const { program } = await loadLibrary(library);
    const processes = this.#processes.get(program) ?? [];
    this.#processes.set(program, processes);
    while (processes.length < count) processes.push(new ForeignProcess(program));
    const taken = processes.slice(0, count);
    await Promise.all(taken.map(({ ready }) => ready));
    return taken;
  }

  open(process, terms) {
    return process.open(terms);
  }

  async warmUp(taken, { library, variant, terms: { mode, permits }, timing: { isQuick } }) {
    const name = [library, variant, mode].join();
    const cold = taken.filter(({ warm }) => !warm.has(name));
    const terms = { ms: WARM_UP[isQuick ? 'quick' : 'full'], mode, permits };
    await Promise.all(cold.map((process) => process.call('warm', terms)));
    for (const { warm } of cold) warm.add(name);
  }

  /** Seconds of CPU that the processes have used. */
  async cpu(taken) {
    const seconds = await Promise.all(taken.map((process) => process.call('cpu')));
    return seconds.reduce((sum, each) => sum + each, 0);
  }

  async drop(dropped) {
    for (const [program, processes] of this.#processes) {
      this.#processes.set(
        program,
        processes.filter((process) => !dropped.includes(process)),
      );
    }
    await Promise.all(dropped.map((process) => process.end()));
  }

  end() {
    return this.drop([...this.#processes.values()].flat());
  }
}
