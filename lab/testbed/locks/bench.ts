import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import type { LockService } from '../../../lib/service/lock.service.js';
import { expectAllKeysHaveTtl, expectNothingLeft } from '../history/leaks.mjs';
import type { RedisServer } from '../servers/redis-server.mjs';
import { eventually, eventuallyPasses } from '../wait/eventually.mjs';
import { started } from '../wait/started.mjs';
import { startLockWorker, type LockWorker } from '../workers/lock-process.js';
import { LockServices } from './lock-services.js';
import { redisKey } from './redis-key.mjs';

/** A server, or a Cluster, with a client for looking at its keys. */
export interface BenchServer {
  readonly admin: Redis | Cluster;
}

/** Lets servers run that have ended or that a test has paused. */
export const resumeAll = (servers: readonly RedisServer[]): Promise<unknown> =>
  Promise.all(servers.map((server) => (server.isRunning ? server.resume() : server.start())));

/** As many as that, made at the same time. */
const several = <T>(count: number, make: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, make));

/** Servers for the tests of a file. After each test they run and are empty, and the services and processes on them have ended. */
export abstract class Bench {
  private readonly services = new LockServices();
  private readonly disposables: AsyncDisposable[] = [];

  /** `defaults`: options of all services. */
  constructor(private readonly defaults: RedisLockModuleOptions = {}) {
    beforeAll(() => this.start());
    afterEach(async () => {
      await this.resume();
      await this.services.closeAll();
      await Promise.all(this.disposables.splice(0).map((disposable) => disposable[Symbol.asyncDispose]()));
      for (const { admin } of this.servers) await expectAllKeysHaveTtl(admin);
      await this.flush();
    });
    afterAll(() => this.stop());
  }

  protected abstract readonly servers: readonly BenchServer[];
  protected abstract readonly connection: RedisLockModuleOptions['connection'];
  protected abstract start(): Promise<void>;
  /** Lets all servers run again. */
  protected abstract resume(): Promise<unknown>;
  protected abstract flush(): Promise<unknown>;
  protected abstract stop(): Promise<unknown>;

  /** The log of the services: `level: text`. */
  get lines(): string[] {
    return this.services.lines.map(({ level, text }) => `${level}: ${text}`);
  }

  /** The warnings of the services. */
  get warnings(): string[] {
    return this.services.lines.filter(({ level }) => level === 'warn').map(({ text }) => text);
  }

  /** A service that has not been started. */
  make(options: RedisLockModuleOptions = {}): LockService {
    return this.services.make({ connection: this.connection, ...this.defaults, ...options });
  }

  /** A started service. At the end of the test it does not wait for holders. */
  async service(options?: RedisLockModuleOptions): Promise<LockService> {
    return started(this.make(options));
  }

  /** Two started services. */
  pair(options?: RedisLockModuleOptions): Promise<[LockService, LockService]> {
    return Promise.all([this.service(options), this.service(options)]);
  }

  serviceList(count: number, options?: RedisLockModuleOptions): Promise<LockService[]> {
    return several(count, () => this.service(options));
  }

  /** Closes all services so far. */
  close(): Promise<void> {
    return this.services.close();
  }

  /** A process of its own with so many started services of the built library. */
  async worker(options: RedisLockModuleOptions = {}, services = 1): Promise<LockWorker> {
    return this.endLater(await startLockWorker({ connection: this.connection, ...options }, { services }));
  }

  workers(count: number, options?: RedisLockModuleOptions): Promise<LockWorker[]> {
    return several(count, () => this.worker(options));
  }

  /** Ends something after the test. */
  endLater<T extends AsyncDisposable>(disposable: T): T {
    this.disposables.push(disposable);
    return disposable;
  }

  /** Resolves when so many wait for a key, on each server. */
  async untilWaiting(key: string, count: number): Promise<void> {
    const waiting = () => Promise.all(this.servers.map(({ admin }) => admin.zcard(redisKey('queue', key))));
    const what = `${count} waiters of '${key}'`;
    await eventually(async () => (await waiting()).every((each) => each === count), { what, within: 15_000 });
  }

  /** Resolves when no client holds or awaits a lock, on any of some servers. */
  async untilNothingIsLeft(servers = this.servers): Promise<void> {
    for (const { admin } of servers) await eventuallyPasses(() => expectNothingLeft(admin), { within: 10_000 });
  }
}
