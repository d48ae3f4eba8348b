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

/** A real Redis (or Valkey) server whose life a test or a laboratory controls, and its clients. */
export class RedisServer extends RedisProcess {
  /** @type {Redis[]} */
  #clients = [];
  /** @type {Redis | undefined} */
  #admin;
  #adminOptions;

  /**
   * @param {import('./redis-process.mjs').RedisInstallation} installation
   * @param {RedisServerOptions} [options]
   */
  constructor(installation, { persistent = false, admin, args = [], ...options } = {}) {
    super(installation, { ...options, args: [...(persistent ? PERSISTENT : []), ...args] });
    this.#adminOptions = admin;
  }

  /**
   * @template {typeof RedisServer} Server
   * @this {Server}
   * @param {RedisServerOptions} [options]
   * @returns {Promise<InstanceType<Server>>}
   */
  static async start({ installation: given, ...options } = {}) {
    const installation = given ?? (await findRedis());
    if (installation === undefined) throw new Error('no Redis on the PATH: run the tests with `npm test`');
    const server = /** @type {InstanceType<Server>} */ (new this(installation, options));
    await server.start();
    return server;
  }

  /**
   * Starts the server again after `kill()`, on the same port: with the data that it has saved, or empty.
   * @override
   * @param {{ empty?: boolean }} [options]
   */
  async start({ empty = false } = {}) {
    if (empty) for (const name of DATA) rmSync(join(this.directory, name), { recursive: true, force: true });
    await super.start();
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

  /** The time of the server's clock, in ms. */
  async time() {
    const [seconds, micros] = await this.admin.time();
    return Number(seconds) * 1_000 + Number(micros) / 1_000;
  }

  /** Ends the connections on which clients send commands. */
  async cutCommands() {
    await this.admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
  }

  /**
   * Does something while the memory is full, so that the server refuses what needs more of it.
   * @template T
   * @param {() => Promise<T>} work
   */
  async withoutMemory(work) {
    await this.admin.config('SET', 'maxmemory', '1');
    try {
      return await work();
    } finally {
      await this.admin.config('SET', 'maxmemory', '0');
    }
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
    return this.signal('SIGSTOP');
  }

  resume() {
    return this.signal('SIGCONT');
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

  /** Ends the server and the clients it gave out. @override */
  async stop() {
    for (const client of this.#clients.splice(0)) client.disconnect();
    this.#admin = undefined;
    await super.stop();
  }

  async [Symbol.asyncDispose]() {
    await this.stop();
  }
}
