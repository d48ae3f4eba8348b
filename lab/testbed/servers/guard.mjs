// @ts-check
import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';

/**
 * Each line it reads is a number and a command, which replaces the earlier command of that number. End of input means
 * that its owner is gone: it runs the commands.
 */
const SCRIPT = `trap '' INT TERM HUP
last=0
while read -r number command; do
  eval "command_$number=\\$command"
  [ "$number" -le "$last" ] || last=$number
done
while [ "$last" -gt 0 ]; do
  eval "eval \\"\\$command_$last\\"" >/dev/null 2>&1
  last=$((last - 1))
done`;

/**
 * The shell of all guards of this process, which outlives it: a process with a large heap takes 10 ms or more to start
 * another one. It ends with the last guard.
 * @type {import('node:child_process').ChildProcessByStdio<import('node:stream').Writable, null, null> | undefined}
 */
let shell;
let lastNumber = 0;
let guards = 0;

function startShell() {
  const child = spawn('sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  child.unref();
  // A pipe to a child is a socket.
  /** @type {import('node:net').Socket} */ (child.stdin).unref();
  child.stdin.on('error', () => {});
  return child;
}

/**
 * Ends a child process, and removes its directory, when our process is gone, however it went: a killed test worker runs
 * no exit handler.
 */
export class Guard {
  #number = ++lastNumber;
  #directory;
  #isDisposed = false;

  /** @param {string} [directory] */
  constructor(directory = '') {
    this.#directory = directory;
    guards += 1;
    this.release();
  }

  /**
   * From now on `command` ends the process.
   * @param {string} command
   */
  watch(command) {
    this.#tell(command);
  }

  /** The process has ended by itself; another process may get its id soon. */
  release() {
    this.#tell('');
  }

  /** Removes the directory of a process that has ended. */
  async dispose() {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    if (this.#directory !== '') await rm(this.#directory, { recursive: true, force: true });
    this.#say('');
    guards -= 1;
    if (guards > 0) return;
    shell?.stdin.end();
    shell = undefined;
  }

  /** @param {string} command */
  #tell(command) {
    if (this.#isDisposed) return;
    const removal = this.#directory === '' ? '' : `rm -rf '${this.#directory.replaceAll("'", `'\\''`)}'`;
    this.#say([command, removal].filter((part) => part !== '').join('; '));
  }

  /** @param {string} command */
  #say(command) {
    shell ??= startShell();
    if (shell.stdin.writable) shell.stdin.write(`${this.#number} ${command}\n`);
  }
}
