import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { LockService } from '../../../lib/service/lock.service.js';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import { eventuallyPasses, eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { expectAllKeysHaveTtl, expectNothingLeft } from '../../../lab/testbed/history/leaks.mjs';
import { startRedis, type RedisServer } from '../../../lab/testbed/servers/redis-server.mjs';
import { LockServices, several } from '../../../lab/testbed/locks/lock-services.js';

/** Independent masters for the tests of a file; all run again after each test, and services on them end. */
export class RedlockBench {
  masters: RedisServer[] = [];
  private readonly services = new LockServices();
  private readonly disposables: AsyncDisposable[] = [];

  constructor(count: number) {
    beforeAll(async () => {
      this.masters = await Promise.all(Array.from({ length: count }, () => startRedis()));
    });
    afterEach(async () => {
      await Promise.all(this.masters.map((master) => (master.isRunning ? master.resume() : master.start())));
      await this.services.closeAll();
      await Promise.all(this.disposables.splice(0).map((disposable) => disposable[Symbol.asyncDispose]()));
      for (const { admin } of this.masters) {
        await expectAllKeysHaveTtl(admin);
        await admin.flushall();
      }
    });
    afterAll(() => Promise.all(this.masters.map((master) => master.stop())));
  }

  get urls(): string[] {
    return this.masters.map(({ url }) => url);
  }

  /** The log of the services: `level: text`. */
  get lines(): string[] {
    return this.services.lines.map(({ level, text }) => `${level}: ${text}`);
  }

  /** A service that has not been started. */
  make(options: RedisLockModuleOptions = {}): LockService {
    return this.services.make({ connection: this.urls, ...options });
  }

  service(options: RedisLockModuleOptions = {}): Promise<LockService> {
    return this.services.start({ connection: this.urls, ...options });
  }

  serviceList(count: number, options?: RedisLockModuleOptions): Promise<LockService[]> {
    return several(count, () => this.service(options));
  }

  close(): Promise<void> {
    return this.services.close();
  }

  endLater<T extends AsyncDisposable>(disposable: T): T {
    this.disposables.push(disposable);
    return disposable;
  }

  /** Resolves when a key is held on all masters: a hold has begun when a majority has granted it. */
  async untilHeldByAll(key: string): Promise<void> {
    const what = `'${key}' held on all masters`;
    await eventually(async () => (await this.holding(key)).every(Boolean), { what });
  }

  /** The masters on which a caller holds a key. */
  async holding(key: string): Promise<boolean[]> {
    return Promise.all(this.masters.map(async ({ admin }) => (await admin.exists(`lock:state:{${key}}`)) === 1));
  }

  /** How many wait for a key, on each of some masters. */
  async waiting(key: string, masters: readonly RedisServer[] = this.masters): Promise<number[]> {
    return Promise.all(masters.map(({ admin }) => admin.zcard(`lock:queue:{${key}}`)));
  }

  /** Resolves when so many wait for a key on each of some masters. */
  untilWaiting(key: string, count: number, masters = this.masters): Promise<void> {
    return eventuallyPasses(async () => {
      const waiting = await this.waiting(key, masters);
      if (waiting.some((each) => each !== count)) throw new Error(`waiting: ${waiting.join(', ')}, not ${count}`);
    });
  }

  /** Resolves when no client holds or awaits a lock, on any of some masters. */
  async untilNothingIsLeft(masters: readonly RedisServer[] = this.masters, within = 10_000): Promise<void> {
    for (const { admin } of masters) await eventuallyPasses(() => expectNothingLeft(admin), { within });
  }
}
