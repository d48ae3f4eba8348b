import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { LockService } from '../../../lib/service/lock.service.js';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import { eventually, eventuallyPasses } from '../wait/eventually.mjs';
import { expectAllKeysHaveTtl, expectNothingLeft } from '../history/leaks.mjs';
import { redisKey } from './redis-key.mjs';
import { startLockWorker, type LockWorker } from '../workers/lock-process.js';
import { startRedisCluster, type RedisCluster, type RedisClusterOptions } from '../servers/redis-cluster.mjs';
import { LockServices, several } from './lock-services.js';

/** A Cluster for the tests of a file; services and processes on it end after each test, and all its nodes run again. */
export class ClusterBench {
  cluster!: RedisCluster;
  private readonly services = new LockServices();
  private readonly workers: LockWorker[] = [];

  constructor(options?: RedisClusterOptions) {
    beforeAll(async () => {
      this.cluster = await startRedisCluster(options);
    });
    afterEach(async () => {
      await this.services.closeAll();
      await Promise.all(this.workers.splice(0).map(({ process }) => process.kill()));
      const { nodes } = this.cluster;
      await Promise.all(nodes.map((node) => (node.isRunning ? node.resume() : node.start())));
      await this.cluster.untilWhole();
      await expectAllKeysHaveTtl(this.cluster.admin);
      await this.cluster.flush();
    });
    afterAll(() => this.cluster.stop());
  }

  /** The log of the services: `level: text`. */
  get lines(): string[] {
    return this.services.lines.map(({ level, text }) => `${level}: ${text}`);
  }

  /** A started service. At the end of the test it does not wait for holders. */
  service(options: RedisLockModuleOptions = {}): Promise<LockService> {
    return this.services.start({ connection: { cluster: this.cluster.addresses }, ...options });
  }

  serviceList(count: number, options?: RedisLockModuleOptions): Promise<LockService[]> {
    return several(count, () => this.service(options));
  }

  /** Processes of their own with a started service each. */
  async workerList(count: number, options: RedisLockModuleOptions = {}): Promise<LockWorker[]> {
    const connection = { cluster: this.cluster.addresses };
    return several(count, async () => {
      const worker = await startLockWorker({ connection, ...options });
      this.workers.push(worker);
      return worker;
    });
  }

  /** Resolves when so many wait for a key. */
  async untilWaiting(key: string, count: number): Promise<void> {
    const queue = redisKey('queue', key);
    await eventually(async () => (await this.cluster.admin.zcard(queue)) === count, {
      what: `${count} waiters of '${key}'`,
      within: 15_000,
    });
  }

  /** Resolves when no client holds or awaits a lock. */
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
