import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { RedisProcess } from '../../testbed/servers/redis-process.mjs';

/** Whatever was acknowledged outlives the process. */
const PERSISTENT = ['--appendonly', 'yes', '--appendfsync', 'always', '--repl-diskless-sync-delay', '0'];
/** Where that is: from Redis 7 on, and before. */
const DATA = ['appendonlydir', 'appendonly.aof', 'dump.rdb'];

/** A server with persistence whose life is in the hands of the measurement. */
export class Server {
  #process;
  #admin;

  static async start(installation, { args = [], config } = {}) {
    const server = new Server();
    const persistence = config === undefined ? PERSISTENT : [];
    server.#process = new RedisProcess(installation, { args: [...persistence, ...args], config });
    await server.#process.start();
    const { host, port } = server.#process;
    // ioredis forgets to clear the timer of disconnectTimeout when a client is closed between two attempts to connect.
    server.#admin = new Redis({
      ...{ host, port, disconnectTimeout: 100, maxRetriesPerRequest: null },
      retryStrategy: () => 50,
    });
    server.#admin.on('error', () => undefined);
    return server;
  }

  get host() {
    return this.#process.host;
  }

  get port() {
    return this.#process.port;
  }

  get url() {
    return this.#process.url;
  }

  get isRunning() {
    return this.#process.isRunning;
  }

  /** What it is asked while the server is away is answered when that is back. */
  get admin() {
    return this.#admin;
  }

  async isMaster() {
    return this.isRunning && /role:master/.test(await this.#admin.info('replication'));
  }

  /** Connections stay open, and nothing is answered. */
  pause() {
    return this.#process.signal('SIGSTOP');
  }

  resume() {
    return this.#process.signal('SIGCONT');
  }

  /** Ends as in a crash. */
  kill() {
    return this.#process.kill();
  }

  /** Starts again on the same port, with what it had acknowledged, or empty. */
  async startAgain({ empty = false } = {}) {
    if (empty) for (const name of DATA) rmSync(join(this.#process.directory, name), { recursive: true, force: true });
    await this.#process.start();
  }

  async stop() {
    this.#admin.disconnect();
    await this.#process.stop();
  }
}
