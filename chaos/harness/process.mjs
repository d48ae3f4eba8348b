import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SuspendedMachine } from '../../testbed/clocks/suspended-machine.mjs';
import { Guard } from '../../testbed/servers/guard.mjs';

/** A process that can be called, stopped, continued and killed; it ends with this one at the latest. */
export class ClientProcess {
  #child;
  #guard = new Guard();
  #machine = new SuspendedMachine();
  #calls = new Map();
  #count = 0;

  /** Resolves when it has ended. */
  exited;

  /** Starts a script that serves calls (`worker-kit.mjs`); it is called as soon as it listens. */
  constructor(script) {
    this.#child = fork(fileURLToPath(new URL(script, import.meta.url)), [], {
      execArgv: [],
      env: { ...process.env, ...this.#machine.env },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true,
    });
    this.#guard.watch(`kill -9 ${this.#child.pid}`);
    this.#child.on('message', ({ id, result, error }) => {
      const call = this.#calls.get(id);
      this.#calls.delete(id);
      if (error) call?.reject(Object.assign(new Error(error.message), error));
      else call?.resolve(result);
    });
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', () => {
        this.#guard.release();
        this.#machine[Symbol.dispose]();
        for (const { reject } of this.#calls.values()) reject(new Error('the process has ended'));
        this.#calls.clear();
        resolve(this.#guard.dispose());
      });
    });
  }

  get isRunning() {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Calls a method of the process, and resolves to what it returns. */
  call(method, ...args) {
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#child.send({ id, method, args }, (error) => error && reject(error));
    });
  }

  stop() {
    this.#child.kill('SIGSTOP');
  }

  goOn() {
    this.#child.kill('SIGCONT');
  }

  /** Stops it as the machine does that sleeps: its clock and its timers do not count the time until `resume`. Linux only. */
  suspend() {
    return this.#machine.suspend(this.#child.pid);
  }

  resume() {
    this.#machine.resume(this.#child.pid);
  }

  kill() {
    this.#child.kill('SIGKILL');
    return this.exited;
  }
}
