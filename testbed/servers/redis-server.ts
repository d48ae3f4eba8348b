import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis, type RedisOptions } from 'ioredis';
import { findRedis } from '../../scripts/lib/redis-installation.mjs';
import { RedisProcess, type RedisProcessOptions } from './redis-process.mjs';

/** Starts a Redis of the test's own on a free port; it ends with `stop()`, `await using`, or with this process. */
export async function startRedis(options?: RedisProcessOptions): Promise<RedisServer> {
  const installation = await findRedis();
  if (installation === undefined) throw new Error('no Redis on the PATH: run the tests with `npm test`');
  const server = new RedisServer(new RedisProcess(installation, options), installation.kind);
  await server.start();
  return server;
}

/** A real Redis (or Valkey) server whose life is in the test's hands. */
export class RedisServer implements AsyncDisposable {
  private readonly clients: Redis[] = [];
  private adminClient: Redis | undefined;

  constructor(
    private readonly process: RedisProcess,
    /** In Docker servers do not see each other at 127.0.0.1: no replicas, Sentinel or Cluster. */
    readonly kind: 'binary' | 'docker',
  ) {}

  get host(): string {
    return this.process.host;
  }

  get port(): number {
    return this.process.port;
  }

  get url(): string {
    return this.process.url;
  }

  get log(): string {
    return this.process.log;
  }

  get isRunning(): boolean {
    return this.process.isRunning;
  }

  /** Starts it again after `kill()`, on the same port. */
  async start(): Promise<void> {
    try {
      await this.process.start();
    } catch (error) {
      await this.process.stop();
      throw error;
    }
  }

  /** A client that is closed when the server is stopped. Connection errors go to its `error` event, and no further. */
  client(options: RedisOptions = {}): Redis {
    // ioredis forgets to clear this timer when a client is closed between two attempts to connect.
    const client = new Redis({ host: this.host, port: this.port, disconnectTimeout: 100, ...options });
    client.on('error', () => undefined);
    this.clients.push(client);
    return client;
  }

  /** The test's own connection, beside those it tests. */
  get admin(): Redis {
    return (this.adminClient ??= this.client());
  }

  /** Calls per command since the start or `resetCommandStats()`: `{ evalsha: 3, 'client|setinfo': 2 }`. */
  async commandStats(): Promise<Record<string, number>> {
    const info = await this.admin.info('commandstats');
    return Object.fromEntries(
      [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(([, name, calls]) => [name, Number(calls)]),
    ) as Record<string, number>;
  }

  async resetCommandStats(): Promise<void> {
    await this.admin.config('RESETSTAT');
  }

  /** Resolves when a replica has all that has been written here so far. */
  async replicated(): Promise<void> {
    // WAIT speaks of what had been written when the last command of its own connection came.
    await this.admin.ping();
    if ((await this.admin.wait(1, 10_000)) === 0) throw new Error('no replica has it after 10 s');
  }

  /** Stalls the server: connections stay open and nothing is answered. */
  pause(): Promise<void> {
    return this.process.signal('SIGSTOP');
  }

  resume(): Promise<void> {
    return this.process.signal('SIGCONT');
  }

  /** Ends the server as a crash does. `start()` may follow: what was not saved is gone. */
  kill(signal?: NodeJS.Signals): Promise<void> {
    return this.process.kill(signal);
  }

  /** Ends the server and starts it on the same port: with its data, or without as if it had no persistence. */
  async restart({ empty = false }: { empty?: boolean } = {}): Promise<void> {
    await this.resume();
    if (!empty && this.isRunning) await this.admin.call('SAVE');
    await this.kill();
    if (empty) rmSync(join(this.process.directory, 'dump.rdb'), { force: true });
    await this.start();
  }

  /** Ends the server and the clients it gave out. */
  async stop(): Promise<void> {
    for (const client of this.clients.splice(0)) client.disconnect();
    this.adminClient = undefined;
    await this.process.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
