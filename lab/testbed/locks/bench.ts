import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { Cluster, Redis } from 'ioredis';
import type { LockEvent } from '../../../lib/engine/lock-event.js';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import type { AcquireOptions } from '../../../lib/options/acquire-options.js';
import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import type { LockService } from '../../../lib/service/lock.service.js';
import { expectAllKeysHaveTtl, expectNothingLeft, expectShortTombstones } from '../history/leaks.mjs';
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

export interface BenchTerms {
  /** Options of all services. */
  readonly defaults?: RedisLockModuleOptions;
  /** Whether the events of all services are recorded, for `events` and `told()`. */
  readonly records?: boolean;
  /** Whether each test has servers of its own. Default: they start once, and are emptied after each test. */
  readonly each?: boolean;
  /** Whether each test ends when no client holds or awaits a lock. Only then its services are closed. */
  readonly leavesNothing?: boolean;
}

/** Lets servers run that have ended or that a test has paused. */
export const resumeAll = (servers: readonly RedisServer[]): Promise<unknown> =>
  Promise.all(servers.map((server) => (server.isRunning ? server.resume() : server.start())));

/** A list whose length is known has a name for each of its services. */
interface Few {
  readonly 1: [LockService];
  readonly 2: [LockService, LockService];
  readonly 3: [LockService, LockService, LockService];
  readonly 4: [LockService, LockService, LockService, LockService];
}
type Services<Count extends number> = Count extends keyof Few ? Few[Count] : LockService[];

/** As many as that, made at the same time. */
const several = <T>(count: number, make: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, make));

/** Servers for the tests of a file. After each test they run and are empty, and the services and processes on them have ended. */
export abstract class Bench {
  readonly events: LockEvent[] = [];
  private readonly services = new LockServices();
  private readonly disposables: AsyncDisposable[] = [];

  constructor(private readonly terms: BenchTerms = {}) {
    const [before, after] = terms.each ? [beforeEach, afterEach] : [beforeAll, afterAll];
    before(() => this.start());
    afterEach(async () => {
      await this.resume();
      if (terms.leavesNothing) await this.untilNothingIsLeft();
      await this.services.closeAll();
      await Promise.all(this.disposables.splice(0).map((disposable) => disposable[Symbol.asyncDispose]()));
      for (const { admin } of this.servers) await expectAllKeysHaveTtl(admin);
      this.events.length = 0;
      if (!terms.each) await this.flush();
    });
    after(() => this.stop());
  }

  /** ms for which a tombstone stays at most: twice the default `commandTimeout`, and a little. */
  protected readonly longestTombstone: number = 10_100;
  protected abstract readonly servers: readonly BenchServer[];
  protected abstract readonly connection: RedisLockModuleOptions['connection'];
  protected abstract start(): Promise<void>;
  /** Lets all servers run again. */
  protected abstract resume(): Promise<unknown>;
  /** Empties servers that the next test uses. */
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
    const service = this.services.make({ connection: this.connection, ...this.terms.defaults, ...options });
    if (this.terms.records) service.events.subscribe((event) => this.events.push(event));
    return service;
  }

  /** A started service. At the end of the test it does not wait for holders. */
  async service(options?: RedisLockModuleOptions): Promise<LockService> {
    return started(this.make(options));
  }

  /** Two started services. */
  pair(options?: RedisLockModuleOptions): Promise<[LockService, LockService]> {
    return Promise.all([this.service(options), this.service(options)]);
  }

  /** So many started services. */
  async serviceList<Count extends number>(count: Count, options?: RedisLockModuleOptions): Promise<Services<Count>> {
    return (await several(count, () => this.service(options))) as Services<Count>;
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

  /** A key ('a') that one client holds and another one waits for. `options` are those of the waiter. */
  async contended<Waiting = LockHandle>(
    holder: LockService,
    waiter: { acquire(key: string, options?: AcquireOptions): Promise<Waiting> },
    { key = 'a', ...options }: AcquireOptions & { key?: string } = {},
  ): Promise<{ lock: LockHandle; waiting: Promise<Waiting> }> {
    const lock = await holder.acquire(key);
    const waiting = waiter.acquire(key, options);
    await this.untilWaiting(key, 1);
    return { lock, waiting };
  }

  /** Lets services wait for a key, one after the other. `served` has their places in the order in which they got it. */
  async queueUp(
    key: string,
    services: readonly LockService[],
    options?: AcquireOptions,
    apart?: () => Promise<unknown>,
  ) {
    const served: number[] = [];
    const calls: Array<Promise<unknown>> = [];
    for (const [i, service] of services.entries()) {
      calls.push(service.run(key, () => void served.push(i), options));
      await this.untilWaiting(key, i + 1);
      await apart?.();
    }
    return { served, all: Promise.all(calls) };
  }

  /** Recorded events of one type so far. */
  told<T extends LockEvent['type']>(type: T): Array<Extract<LockEvent, { type: T }>> {
    return this.events.filter((event): event is Extract<LockEvent, { type: T }> => event.type === type);
  }

  /** Resolves when so many wait for a key, on each server. */
  async untilWaiting(key: string, count: number): Promise<void> {
    const waiting = () => Promise.all(this.servers.map(({ admin }) => admin.zcard(redisKey('queue', key))));
    const what = `${count} waiters of '${key}'`;
    await eventually(async () => (await waiting()).every((each) => each === count), { what, within: 15_000 });
  }

  /** Resolves when no client holds or awaits a lock, on any of some servers. What stays for a time must not stay for long. */
  async untilNothingIsLeft(servers = this.servers): Promise<void> {
    for (const { admin } of servers) {
      await expectShortTombstones(admin, this.longestTombstone);
      await eventuallyPasses(() => expectNothingLeft(admin), { within: 10_000 });
    }
  }
}
