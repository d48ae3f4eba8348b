import type { LockEvent } from '../../../lib/engine/lock-event.js';
import type { LockService } from '../../../lib/service/lock.service.js';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { eventually, eventuallyPasses } from '../wait/eventually.mjs';
import { now } from '../history/history.js';
import { expectAllKeysHaveTtl, expectNothingLeft } from '../history/leaks.mjs';
import { startLockWorker, type LockWorker } from '../workers/lock-process.js';
import { startRedis, type RedisServer } from '../servers/redis-server.mjs';
import { RespProxy } from '../proxies/resp-proxy.mjs';
import { timed } from '../wait/timed.mjs';
import { redisKey } from './redis-key.mjs';
import { LockServices, several } from './lock-services.js';

export { timed };

/**
 * How long something may take that happens at once, on a machine that is busy with other tests: less than the 3 s after
 * which a waiter asks by itself, and less than a lease of 30 s.
 */
export const AT_ONCE = 1_500;

/** A Redis for the tests of a file; services, proxies and processes on it end after each test. */
export class LockBench {
  redis!: RedisServer;
  private readonly services = new LockServices();
  private readonly disposables: AsyncDisposable[] = [];

  /** `defaults`: options of all services and processes. */
  constructor(private readonly defaults: RedisLockModuleOptions = {}) {
    beforeAll(async () => {
      this.redis = await startRedis();
    });
    afterEach(async () => {
      await this.services.closeAll();
      await Promise.all(this.disposables.splice(0).map((disposable) => disposable[Symbol.asyncDispose]()));
      await expectAllKeysHaveTtl(this.redis.admin);
      await this.redis.admin.flushall();
    });
    afterAll(() => this.redis.stop());
  }

  /** The warnings of the services. */
  get warnings(): string[] {
    return this.services.lines.filter(({ level }) => level === 'warn').map(({ text }) => text);
  }

  /** The warnings and errors of the services. */
  get complaints(): string[] {
    return this.services.lines.filter(({ level }) => /warn|error/.test(level)).map(({ text }) => text);
  }

  /** A started service. At the end of the test it does not wait for holders. */
  service(options: RedisLockModuleOptions = {}): Promise<LockService> {
    return this.services.start({ connection: this.redis.url, ...this.defaults, ...options });
  }

  /** Closes all services so far. */
  close(): Promise<void> {
    return this.services.close();
  }

  serviceList(count: number, options?: RedisLockModuleOptions): Promise<LockService[]> {
    return several(count, () => this.service(options));
  }

  /** A process of its own with so many started services of the built library. */
  async worker(options: RedisLockModuleOptions = {}, services = 1): Promise<LockWorker> {
    const worker = await startLockWorker({ connection: this.redis.url, ...options }, { services });
    this.endLater(worker.process);
    return worker;
  }

  workers(count: number, options?: RedisLockModuleOptions): Promise<LockWorker[]> {
    return several(count, () => this.worker(options));
  }

  /** A proxy before the server. */
  async proxy(): Promise<RespProxy> {
    return this.endLater(await RespProxy.start(this.redis));
  }

  /** The messages on these channels from now on, as `<channel> <message>`. */
  async messages(...channels: string[]): Promise<string[]> {
    const subscriber = this.redis.admin.duplicate();
    this.endLater({ [Symbol.asyncDispose]: async () => subscriber.disconnect() });
    const heard: string[] = [];
    subscriber.on('message', (channel, message) => heard.push(`${channel} ${message}`));
    await subscriber.subscribe(...channels);
    return heard;
  }

  /** How often Redis has executed a command since its statistics were reset. */
  async calls(command = 'evalsha'): Promise<number> {
    return (await this.redis.commandStats())[command] ?? 0;
  }

  /** How many connections are subscribed to a channel. */
  async subscribers(channel: string): Promise<number> {
    return Number((await this.redis.admin.pubsub('NUMSUB', channel))[1]);
  }

  /** The waiters of a key, as Redis sees them. */
  async waiters(key: string): Promise<string[]> {
    return this.redis.admin.zrange(redisKey('queue', key), 0, '-1');
  }

  /** Resolves when so many wait for a key in Redis. */
  async untilWaiting(key: string, count: number): Promise<void> {
    const what = `${count} waiters of '${key}'`;
    await eventually(async () => (await this.waiters(key)).length === count, { what, within: 15_000 });
  }

  /** Resolves when no client holds or awaits a lock. */
  untilNothingIsLeft(): Promise<void> {
    return eventuallyPasses(() => expectNothingLeft(this.redis.admin), { within: 10_000 });
  }

  private endLater<T extends AsyncDisposable>(disposable: T): T {
    this.disposables.push(disposable);
    return disposable;
  }
}

/** Milliseconds from one moment to another one, by `now()`. */
export const between = (from: number, to = now()): number => to - from;

/** Resolves when a signal aborts, to its reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}

/** Collects the events of a service. */
export function record(service: LockService): LockEvent[] {
  const events: LockEvent[] = [];
  service.events.subscribe((event) => events.push(event));
  return events;
}

/** `[x, 1]` … `[x, count]`, made one after the other. */
export async function inTurn<T>(count: number, make: (i: number) => Promise<T> | T): Promise<T[]> {
  const made: T[] = [];
  for (let i = 0; i < count; i++) made.push(await make(i));
  return made;
}
