import { loadLibrary } from '../libraries/index.mjs';
import { ForeignProcess } from './foreign-process.mjs';
import { MappedState } from './mapped-state.mjs';
import { warmUp } from './warm-up.mjs';

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

  warmUp(taken, { library, variant, terms, timing }) {
    return warmUp(taken, { kind: 'process', name: [library, variant, terms.mode].join(), terms, timing });
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
