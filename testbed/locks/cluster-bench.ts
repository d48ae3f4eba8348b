import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { LockService } from '../../lib/service/lock.service.js';
import { createLockService } from '../../lib/module/redis-lock.composition.js';
import { resolveModuleOptions, type RedisLockModuleOptions } from '../../lib/module/redis-lock.options.js';
import { eventually, eventuallyPasses } from '../wait/eventually.mjs';
import { expectAllKeysHaveTtl, expectNothingLeft } from '../history/leaks.js';
import { redisKey } from './redis-key.mjs';
import { startLockWorker, type LockWorker } from './locks.js';
import { startRedisCluster, type RedisCluster, type RedisClusterOptions } from '../servers/redis-cluster.mjs';
import { started } from '../wait/started.mjs';

/** A Cluster for the tests of a file; services and processes on it end after each test, and all its nodes run again. */
export class ClusterBench {
  cluster!: RedisCluster;
  readonly lines: string[] = [];
  private readonly services: LockService[] = [];
  private readonly workers: LockWorker[] = [];

  constructor(options?: RedisClusterOptions) {
    beforeAll(async () => {
      this.cluster = await startRedisCluster(options);
    });
    afterEach(async () => {
      await Promise.all(this.services.splice(0).map((service) => service.close()));
      await Promise.all(this.workers.splice(0).map(({ process }) => process.kill()));
      const { nodes } = this.cluster;
      await Promise.all(nodes.map((node) => (node.isRunning ? node.resume() : node.start())));
      await this.cluster.untilWhole();
      await expectAllKeysHaveTtl(this.cluster.admin);
      await this.cluster.flush();
      this.lines.length = 0;
    });
    afterAll(() => this.cluster.stop());
  }

  /** A started service. At the end of the test it waits for nobody who holds a lock. */
  async service(options: RedisLockModuleOptions = {}): Promise<LockService> {
    const say = (level: string) => (text: string) => void this.lines.push(`${level}: ${text}`);
    const logger = { debug: say('debug'), log: say('log'), warn: say('warn'), error: say('error') };
    const connection = { cluster: this.cluster.addresses };
    const service = createLockService(resolveModuleOptions({ connection, shutdownTimeout: 0, ...options }), logger);
    this.services.push(service);
    return started(service);
  }

  serviceList(count: number, options?: RedisLockModuleOptions): Promise<LockService[]> {
    return Promise.all(Array.from({ length: count }, () => this.service(options)));
  }

  /** Processes of their own with a started service each. */
  async workerList(count: number, options: RedisLockModuleOptions = {}): Promise<LockWorker[]> {
    const connection = { cluster: this.cluster.addresses };
    return Promise.all(
      Array.from({ length: count }, async () => {
        const worker = await startLockWorker({ connection, ...options });
        this.workers.push(worker);
        return worker;
      }),
    );
  }

  /** Resolves when so many wait for a key. */
  async untilWaiting(key: string, count: number): Promise<void> {
    const queue = redisKey('queue', key);
    await eventually(async () => (await this.cluster.admin.zcard(queue)) === count, {
      what: `${count} waiters of '${key}'`,
      within: 15_000,
    });
  }

  /** Resolves when nobody holds or awaits any lock. */
  untilNothingIsLeft(): Promise<void> {
    return eventuallyPasses(() => expectNothingLeft(this.cluster.admin), { within: 10_000, every: 20 });
  }

  /** How often the nodes have been asked something since `resetStats`. */
  async calls(command: string): Promise<number> {
    const stats = await Promise.all(this.cluster.nodes.map((node) => node.commandStats()));
    return stats.reduce((sum, each) => sum + (each[command] ?? 0), 0);
  }

  async resetStats(): Promise<void> {
    await Promise.all(this.cluster.nodes.map((node) => node.resetCommandStats()));
  }
}
