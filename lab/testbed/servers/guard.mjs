// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
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

/** A shell that outlives this process, and then runs the commands of the guards. */
class Shell {
  #child = spawn('sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  #guards = 0;
  #last = 0;

  constructor() {
    this.#child.unref();
    // A pipe to a child is a socket.
    /** @type {import('node:net').Socket} */ (this.#child.stdin).unref();
    this.#child.stdin.on('error', () => {});
  }

  get isUsed() {
    return this.#guards > 0;
  }

  /** The number of a further guard. */
  add() {
    this.#guards++;
    return ++this.#last;
  }

  /**
   * @param {number} number
   * @param {string} command
   */
  tell(number, command) {
    if (this.#child.stdin.writable) this.#child.stdin.write(`${number} ${command}\n`);
  }

  /**
   * Forgets a guard; the last one ends the shell.
   * @param {number} number
   */
  async remove(number) {
    this.tell(number, '');
    this.#guards--;
    if (this.isUsed || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.ref();
    this.#child.stdin.end();
    await ended;
  }
}

/**
 * The shell of all guards of this process: a process with a large heap takes 10 ms or more to start another one.
 * @type {Shell | undefined}
 */
let shared;

function currentShell() {
  if (shared?.isUsed !== true) shared = new Shell();
  return shared;
}

/**
 * Ends a child process, and removes its directory, when our process is gone, however it went: a killed test worker runs
 * no exit handler.
 */
export class Guard {
  #shell = currentShell();
  #number = this.#shell.add();
  #directory;
  #isDisposed = false;

  /** @param {string} [directory] */
  constructor(directory = '') {
    this.#directory = directory;
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
    await this.#shell.remove(this.#number);
  }

  /** @param {string} command */
  #tell(command) {
    if (this.#isDisposed) return;
    const removal = this.#directory === '' ? '' : `rm -rf '${this.#directory.replaceAll("'", `'\\''`)}'`;
    this.#shell.tell(this.#number, [command, removal].filter((part) => part !== '').join('; '));
  }
}
