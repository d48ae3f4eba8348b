// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Each line it reads says how to end the process from then on; end of input means that its owner is gone. */
const SCRIPT = `trap '' INT TERM HUP
end=
while read -r line; do end=$line; done
$end >/dev/null 2>&1
[ -z "$1" ] || rm -rf "$1"`;

/**
 * Ends a child process, and removes its directory, when our process is gone, however it went: a killed test worker runs
 * no exit handler.
 */
export class Guard {
  #shell;

  /** @param {string} [directory] */
  constructor(directory = '') {
    this.#shell = spawn('sh', ['-c', SCRIPT, 'sh', directory], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    this.#shell.unref();
    // A pipe to a child is a socket.
    /** @type {import('node:net').Socket} */ (this.#shell.stdin).unref();
    this.#shell.stdin.on('error', () => {});
  }

  /**
   * From now on `command` ends the process.
   * @param {string} command
   */
  watch(command) {
    this.#shell.stdin.write(`${command}\n`);
  }

  /** The process has ended by itself; another process may get its id soon. */
  release() {
    if (this.#shell.stdin.writable) this.#shell.stdin.write('\n');
  }

  /** Ends and removes now. */
  async dispose() {
    if (this.#shell.exitCode !== null || this.#shell.signalCode !== null) return;
    const ended = once(this.#shell, 'exit');
    this.#shell.ref();
    this.#shell.stdin.end();
    await ended;
  }
}
