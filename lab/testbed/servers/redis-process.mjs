// @ts-check
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Guard } from './guard.mjs';
import { findFreePort, HOST } from './ports.mjs';

const START_TIMEOUT = 10_000;
const PORT_ATTEMPTS = 20;

/**
 * A Redis that can be started: a program on this machine, or an image run by Docker.
 * @typedef {object} RedisInstallation
 * @property {'binary' | 'docker'} kind
 * @property {string} command the program to start: the server itself, or `docker`
 * @property {string} version
 * @property {string} [image] Docker only
 *
 * @typedef {object} RedisProcessOptions
 * @property {readonly string[]} [args] further arguments of `redis-server`
 * @property {string} [config] the text of a configuration file, for settings that arguments cannot express (Sentinel
 *   wants a file that it can write)
 * @property {number} [port] default: a free one
 */

/** A Redis or Valkey server of our own on 127.0.0.1, in a temporary directory of its own. */
export class RedisProcess {
  #installation;
  #args;
  #directory = mkdtempSync(join(tmpdir(), 'locks-redis-'));
  #guard = new Guard(this.#directory);
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  /** @type {string | undefined} */
  #container;
  /** @type {Promise<void>} */
  #exited = Promise.resolve();

  /** @param {RedisInstallation} installation @param {RedisProcessOptions} [options] */
  constructor(installation, { args = [], config, port } = {}) {
    this.#installation = installation;
    this.#args = args;
    /** Known once started; the same after every restart. */
    this.port = /** @type {number} */ (port);
    if (config !== undefined) writeFileSync(join(this.#directory, 'redis.conf'), config);
    this.hasConfig = config !== undefined;
  }

  get host() {
    return HOST;
  }

  get url() {
    return `redis://${HOST}:${this.port}`;
  }

  get directory() {
    return this.#directory;
  }

  get isRunning() {
    return this.#child !== undefined;
  }

  /** Resolves when the server that runs now has ended. */
  get exited() {
    // Otherwise a process that has nothing else to wait for would end before its server does.
    this.#child?.ref();
    return this.#exited;
  }

  /** The log of the server since its last start. */
  get log() {
    return readFileSync(join(this.#directory, 'server.log'), 'utf8');
  }

  /** Starts the server and resolves once it answers; on the port it had before, or on a free one. */
  async start() {
    const isPortFixed = this.port !== undefined;
    for (let attempt = 1; ; attempt++) {
      if (!isPortFixed) this.port = await findFreePort();
      this.#spawn();
      if (await this.#becomesReady()) return;
      const log = this.log;
      // Another process took the port after our search for a free one and before the server bound it.
      if (!/address already in use|port is already allocated/i.test(log) || attempt === PORT_ATTEMPTS) {
        await this.stop();
        throw new Error(`Redis did not start on ${HOST}:${this.port}:\n${log.slice(-2000)}`);
      }
      if (isPortFixed) await sleep(50);
    }
  }

  #spawn() {
    const log = openSync(join(this.#directory, 'server.log'), 'w');
    const { command, args, end } = this.#commandLine();
    /** @type {import('node:child_process').ChildProcess} */
    const child = spawn(command, args, { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    child.unref();
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      const ended = () => {
        if (this.#child === child) this.#child = undefined;
        this.#guard.release();
        resolve();
      };
      child.once('exit', ended);
      child.once('error', ended);
    });
    this.#guard.watch(end ?? `kill -9 ${child.pid}`);
  }

  /** @returns {{ command: string, args: string[], end?: string }} */
  #commandLine() {
    const { kind, command, image } = this.#installation;
    // A master that copies its data to a replica without a file sends no later write before the replica's first
    // acknowledgement, up to a second after it follows.
    const settings = ['--save', '', '--appendonly', 'no', '--repl-diskless-sync', 'no', ...this.#args];
    if (kind === 'binary') {
      const config = this.hasConfig ? [join(this.#directory, 'redis.conf')] : [];
      const own = ['--port', String(this.port), '--bind', HOST, '--dir', this.#directory];
      return { command, args: [...config, ...own, ...settings] };
    }
    this.#container = `locks-redis-${process.pid}-${this.port}-${Date.now().toString(36)}`;
    const config = this.hasConfig ? ['/data/redis.conf'] : [];
    // The server is reachable through the published port only, and that is bound to this machine's loopback.
    const own = ['--port', '6379', '--bind', '0.0.0.0', '--protected-mode', 'no', '--dir', '/data'];
    const user = `${process.getuid?.()}:${process.getgid?.()}`;
    const publish = ['-p', `${HOST}:${this.port}:6379`, '-v', `${this.#directory}:/data`];
    const run = ['run', '--rm', '--name', this.#container, '--user', user, ...publish];
    return {
      command,
      args: [...run, String(image), 'redis-server', ...config, ...own, ...settings],
      end: `${command} rm -f ${this.#container}`,
    };
  }

  async #becomesReady() {
    const deadline = Date.now() + (this.#container ? 6 : 1) * START_TIMEOUT;
    while (this.#child !== undefined) {
      const info = await ask(this.port, 'INFO server');
      if (this.#isAnswerOfOurs(info)) return true;
      if (Date.now() > deadline) {
        await this.signal('SIGKILL');
        return false;
      }
      await sleep(5);
    }
    return false;
  }

  /**
   * The answer could come from another server that took the port first, while our server is still failing to bind it.
   * @param {string | undefined} info
   */
  #isAnswerOfOurs(info) {
    if (info === undefined || info.startsWith('-LOADING')) return false;
    if (this.#container || info.startsWith('-NOAUTH')) return this.#child !== undefined;
    return Number(/process_id:(\d+)/.exec(info)?.[1]) === this.#child?.pid;
  }

  /**
   * Sends a signal to the server. SIGSTOP and SIGCONT stall it and let it go on.
   * @param {NodeJS.Signals} signal
   */
  async signal(signal) {
    if (this.#child === undefined) return;
    if (this.#container === undefined) {
      this.#child.kill(signal);
      // Until a signal has been taken the server may still answer.
      if (signal === 'SIGSTOP') await stateIs(/** @type {number} */ (this.#child.pid), 'T');
      return;
    }
    /** @type {Partial<Record<NodeJS.Signals, string[]>>} */
    const verbs = { SIGSTOP: ['pause'], SIGCONT: ['unpause'] };
    const verb = verbs[signal] ?? ['kill', '--signal', signal];
    spawnSync(this.#installation.command, [...verb, this.#container], { stdio: 'ignore' });
  }

  /**
   * Ends the server as a crash does, stalled or not, and keeps its directory: `start()` may follow. Data that was not saved is
   * gone.
   * @param {NodeJS.Signals} [signal]
   */
  async kill(signal = 'SIGKILL') {
    // A stalled server takes no other signal before it resumes.
    if (signal !== 'SIGKILL' || this.#container) await this.signal('SIGCONT');
    const { exited } = this;
    await this.signal(signal);
    await exited;
  }

  /** Ends the server and removes its directory. */
  async stop() {
    await this.kill();
    await this.#guard.dispose();
  }
}

/** @param {number} pid @param {string} state */
async function stateIs(pid, state) {
  if (process.platform !== 'linux') return sleep(20);
  for (let attempt = 0; attempt < 200; attempt++) {
    // The state follows the command name, which is in parentheses and may hold anything.
    if (readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.startsWith(state)) return undefined;
    await sleep(1);
  }
  return undefined;
}

/**
 * The answer to one inline command on a connection of its own; `undefined` when there is none.
 * @param {number} port
 * @param {string} command
 * @returns {Promise<string | undefined>}
 */
function ask(port, command) {
  return new Promise((resolve) => {
    const socket = createConnection({ host: HOST, port });
    let answer = '';
    const finish = (/** @type {string | undefined} */ value) => {
      socket.destroy();
      resolve(value);
    };
    socket.setTimeout(500, () => finish(undefined));
    socket.once('error', () => finish(undefined));
    socket.once('close', () => finish(undefined));
    socket.once('connect', () => socket.write(`${command}\r\n`));
    socket.on('data', (chunk) => {
      answer += chunk;
      if (/^-.*\r\n/.test(answer) || /process_id:\d+\r\n/.test(answer)) finish(answer);
    });
  });
}
