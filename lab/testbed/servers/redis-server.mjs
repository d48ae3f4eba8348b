// @ts-check
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findRedis } from '../../../scripts/lib/redis-installation.mjs';
import { RedisProcess } from './redis-process.mjs';

/** Everything that the server has acknowledged outlives the process. */
const PERSISTENT = ['--appendonly', 'yes', '--appendfsync', 'always'];
/** The files with the data: the first one from Redis 7 on, the second one before. */
const DATA = ['appendonlydir', 'appendonly.aof', 'dump.rdb'];

/**
 * @typedef {import('./redis-process.mjs').RedisProcessOptions & ServerOptions} RedisServerOptions
 *
 * @typedef {object} ServerOptions
 * @property {import('./redis-process.mjs').RedisInstallation} [installation] default: the installation of `npm test`, or of the PATH
 * @property {boolean} [persistent] whether everything that was acknowledged outlives the process; default `false`
 * @property {import('ioredis').RedisOptions} [admin] options of the connection `admin`
 */

/**
 * Starts a Redis of the caller's own on a free port. It ends with `stop()`, `await using`, or with this process.
 * @param {RedisServerOptions} [options]
 */
export const startRedis = (options) => RedisServer.start(options);

/** A real Redis (or Valkey) server whose life a test or a laboratory controls. */
export class RedisServer {
  /** @type {Redis[]} */
  #clients = [];
  /** @type {Redis | undefined} */
  #admin;
  #adminOptions;
  #process;

  /**
   * @param {RedisProcess} process
   * @param {'binary' | 'docker'} kind
   * @param {import('ioredis').RedisOptions} [adminOptions]
   */
  constructor(process, kind, adminOptions) {
    this.#process = process;
    /** In Docker servers do not see each other at 127.0.0.1: no replicas, Sentinel or Cluster. */
    this.kind = kind;
    this.#adminOptions = adminOptions;
  }

  /**
   * @template {typeof RedisServer} Server
   * @this {Server}
   * @param {RedisServerOptions} [options]
   * @returns {Promise<InstanceType<Server>>}
   */
  static async start({ installation: given, persistent = false, admin, args = [], ...options } = {}) {
    const installation = given ?? (await findRedis());
    if (installation === undefined) throw new Error('no Redis on the PATH: run the tests with `npm test`');
    const process = new RedisProcess(installation, { ...options, args: [...(persistent ? PERSISTENT : []), ...args] });
    const server = /** @type {InstanceType<Server>} */ (new this(process, installation.kind, admin));
    await server.start();
    return server;
  }

  get host() {
    return this.#process.host;
  }

  /** The same after every restart. */
  get port() {
    return this.#process.port;
  }

  get url() {
    return this.#process.url;
  }

  /** The log of the server since its last start. */
  get log() {
    return this.#process.log;
  }

  get isRunning() {
    return this.#process.isRunning;
  }

  /**
   * Starts the server again after `kill()`, on the same port: with the data that it has saved, or empty.
   * @param {{ empty?: boolean }} [options]
   */
  async start({ empty = false } = {}) {
    if (empty) for (const name of DATA) rmSync(join(this.#process.directory, name), { recursive: true, force: true });
    try {
      await this.#process.start();
    } catch (error) {
      await this.#process.stop();
      throw error;
    }
  }

  /**
   * A client that is closed when the server is stopped. Connection errors go to its `error` event, and no further.
   * @param {import('ioredis').RedisOptions} [options]
   */
  client(options = {}) {
    // ioredis forgets to clear this timer when a client is closed between two attempts to connect.
    const client = new Redis({ host: this.host, port: this.port, disconnectTimeout: 100, ...options });
    client.on('error', () => undefined);
    this.#clients.push(client);
    return client;
  }

  /** A connection of the caller's own, besides the connections that it tests, and past all proxies. */
  get admin() {
    return (this.#admin ??= this.client(this.#adminOptions));
  }

  /**
   * Calls per command since the start or `resetCommandStats()`: `{ evalsha: 3, 'client|setinfo': 2 }`.
   * @returns {Promise<Record<string, number>>}
   */
  async commandStats() {
    const info = await this.admin.info('commandstats');
    // A command that was only rejected has no call.
    return Object.fromEntries(
      [...info.matchAll(/^cmdstat_([^:]+):calls=([1-9]\d*)/gm)].map(([, name, calls]) => [name, Number(calls)]),
    );
  }

  async resetCommandStats() {
    await this.admin.config('RESETSTAT');
  }

  /** Whether the server is a master by its own account. */
  async isMaster() {
    return this.isRunning && /role:master/.test(await this.admin.info('replication'));
  }

  /** Resolves when a replica has all that has been written here so far. */
  async replicated() {
    // WAIT covers the writes up to the last command of its own connection.
    await this.admin.ping();
    if ((await this.admin.wait(1, 10_000)) === 0) throw new Error('no replica has it after 10 s');
  }

  /** Stalls the server: connections stay open and nothing is answered. */
  pause() {
    return this.#process.signal('SIGSTOP');
  }

  resume() {
    return this.#process.signal('SIGCONT');
  }

  /**
   * Ends the server as a crash does. `start()` may follow: data that was not saved is gone.
   * @param {NodeJS.Signals} [signal]
   */
  kill(signal) {
    return this.#process.kill(signal);
  }

  /**
   * Ends the server and starts it on the same port: with its data, or without as if it had no persistence.
   * @param {{ empty?: boolean }} [options]
   */
  async restart({ empty = false } = {}) {
    await this.resume();
    if (!empty && this.isRunning) await this.admin.call('SAVE');
    await this.kill();
    await this.start({ empty });
  }

  /** Ends the server and the clients it gave out. */
  async stop() {
    for (const client of this.#clients.splice(0)) client.disconnect();
    this.#admin = undefined;
    await this.#process.stop();
  }

  async [Symbol.asyncDispose]() {
    await this.stop();
  }
}
