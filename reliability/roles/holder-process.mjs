import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const WORKER = fileURLToPath(new URL('holder-worker.mjs', import.meta.url));

/** A process of its own that holds a key, to be stalled and killed. */
export class HolderProcess {
  #child;

  /** Resolves when it has the key. */
  static async start(connection, key) {
    const holder = new HolderProcess();
    holder.#child = fork(WORKER, [JSON.stringify({ connection, key })], {
      execArgv: [],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    await once(holder.#child, 'message');
    return holder;
  }

  stall() {
    this.#child.kill('SIGSTOP');
  }

  /** Lets it go on; resolves to what it sees of its lock then. */
  async resume() {
    const answer = once(this.#child, 'message');
    this.#child.kill('SIGCONT');
    this.#child.send('look');
    return (await answer)[0];
  }

  async kill() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
