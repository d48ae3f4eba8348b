// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Guard } from '../servers/guard.mjs';

const TARGET = fileURLToPath(new URL('../../../test/redisson/java/target', import.meta.url));
/** A JVM that starts soon and stays small: it is one of several on a busy machine. */
const JVM = ['-Xmx192m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];

/**
 * Where Redisson finds Redis.
 * @typedef {object} RedissonServers
 * @property {'single' | 'sentinel' | 'cluster'} kind
 * @property {readonly string[]} addresses URLs
 * @property {string} [detail] of Sentinels: the name of the master; of a Cluster: the `ShardedSubscriptionMode`
 * @property {Record<string, { readonly port: number }>} [proxies] of Sentinels: where servers are reached whose addresses
 *   (`host:port`) they name, on the same host
 *
 * @typedef {object} RedissonTimes settings of Redisson in ms; if left out, its defaults
 * @property {number} [timeout] ms in which a command has to be answered; default 3 s
 * @property {number} [ping] pingConnectionInterval; default 30 s
 *
 * @typedef {{ resolve(value: string): void, reject(error: Error): void }} Pending
 */

/** A JVM with a client of Redisson (`test/redisson/java/src/main/java/RedissonSide.java`), and the calls to it. */
export class RedissonProcess {
  /** @type {Map<number, Pending>} */
  #calls = new Map();
  #lastCall = 0;
  #errors = '';
  #guard = new Guard();
  #child;

  /** @param {import('node:child_process').ChildProcessWithoutNullStreams} child */
  constructor(child) {
    this.#child = child;
    this.#guard.watch(`kill -9 ${String(child.pid)}`);
    createInterface({ input: child.stdout }).on('line', (line) => this.#answered(line));
    // The JVM may be killed meanwhile: its exit says so.
    child.stdin.on('error', () => undefined);
    child.stderr.on('data', (data) => (this.#errors += String(data)));
    child.once('exit', (code) => {
      this.#guard.release();
      void this.#guard.dispose();
      for (const { reject } of this.#calls.values())
        reject(new Error(`the JVM has ended (${String(code)}): ${this.#errors}`));
      this.#calls.clear();
    });
  }

  /**
   * Resolves when Redisson is connected.
   * @param {string} version
   * @param {string | RedissonServers} at
   * @param {number} [watchdog] lockWatchdogTimeout of Redisson, in ms
   * @param {RedissonTimes} [times]
   */
  static async start(version, at, watchdog = 30_000, { timeout, ping } = {}) {
    /** @type {RedissonServers} */
    const {
      kind,
      addresses,
      detail = '',
      proxies = {},
    } = typeof at === 'string' ? { kind: 'single', addresses: [at] } : at;
    const ports = Object.entries(proxies).map(([server, { port }]) => `${server.replace(/^.*:/, '')}=${port}`);
    const settings = { timeout, ping, proxies: ports.length === 0 ? undefined : ports.join(',') };
    const properties = Object.entries(settings).flatMap(([name, value]) =>
      value === undefined ? [] : [`-Dside.${name}=${value}`],
    );
    const classpath = `${TARGET}/${version}/classes:${TARGET}/${version}/lib/*`;
    const program = ['RedissonSide', kind, String(watchdog), addresses.join(','), detail];
    const started = new RedissonProcess(spawn('java', [...JVM, ...properties, '-cp', classpath, ...program]));
    await new Promise((resolve, reject) => started.#calls.set(0, { resolve, reject }));
    return started;
  }

  get isRunning() {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /**
   * Runs a command on the Java thread with this name.
   * @param {string} thread
   * @returns {<T = string>(command: string, ...args: Array<string | number>) => Promise<T>}
   */
  on(thread) {
    return async (command, ...args) => {
      if (!this.isRunning) throw new Error('the JVM has ended');
      const id = (this.#lastCall += 1);
      /** @type {Promise<string>} */
      const answer = new Promise((resolve, reject) => this.#calls.set(id, { resolve, reject }));
      this.#child.stdin.write(`${[id, thread, command, ...args].join(' ')}\n`);
      const text = await answer;
      return /** @type {any} */ (text === 'true' ? true : text === 'false' ? false : text);
    };
  }

  /** Stalls the JVM: it does nothing, and its connections stay open. */
  pause() {
    this.#child.kill('SIGSTOP');
  }

  resume() {
    this.#child.kill('SIGCONT');
  }

  async kill() {
    if (!this.isRunning) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  /** @param {string} line */
  #answered(line) {
    const [, id, outcome, text = ''] = /^(\d+) (ok|error) ?(.*)$/.exec(line) ?? [];
    const call = this.#calls.get(Number(id));
    if (call === undefined) return;
    this.#calls.delete(Number(id));
    if (outcome === 'ok') call.resolve(text);
    else call.reject(new Error(text));
  }
}
