import { setImmediate } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { merge, type Subscription } from 'rxjs';
import { systemClock } from '../common/clock.js';
import type { Duration } from '../common/duration.js';
import { declaredInstances } from '../decorators/method-lock-metadata.js';
import { LockConfigError } from '../errors/index.js';
import { LockService } from '../service/lock.service.js';
import type { AcquireOptions } from '../options/acquire-options.js';
import type { LockHandle } from '../service/handles/lock-handle.js';
import { readChoice, refuseUnknownOptions } from '../options/option-readers.js';
import { createLockService } from '../module/redis-lock.composition.js';
import { MODULE_OPTION_NAMES } from '../module/redis-lock.option-table.js';
import { resolveModuleOptions, type RedisLockModuleOptions } from '../module/redis-lock.options.js';
import { DEFAULT_INSTANCE, getLockServiceToken } from '../module/redis-lock.tokens.js';
import { MemoryBackend } from '../store/memory/memory-backend.js';
import { MemoryStore } from '../store/memory/memory-store.js';
import { Acquisitions } from './acquisitions.js';
import { ManualClock } from './manual-clock.js';
import { RecordingEngine } from './recording-engine.js';

/**
 * The options of `LockTesting`: those of the module, and the clock. Nothing is kept in Redis, so `connection` is not used;
 * `shutdownTimeout` is 0 unless it is given.
 */
export interface LockTestingOptions extends Omit<RedisLockModuleOptions, 'store'> {
  /**
   * `'system'`: time passes. `'manual'`: time passes when the test calls `clock.advance(ms)`.
   * @defaultValue 'system'
   */
  clock?: 'system' | 'manual';
  /**
   * How long the end of the test waits for the holders of locks to finish.
   * @defaultValue 0
   */
  shutdownTimeout?: Duration;
}

/** What Nest's `TestingModuleBuilder` has for those who put one provider in the place of another. */
export interface OverridesProviders {
  overrideProvider(token: any): { useValue(value: any): unknown };
}

/** The names of all options. */
export const TESTING_OPTIONS: readonly string[] = [
  ...MODULE_OPTION_NAMES.filter((name) => name !== 'store' && name !== 'isGlobal'),
  'clock',
];

/** How many ms have to pass for what is to happen at once, where time stands still. */
const END = 2;

const logger = new Logger('RedisLock');

/**
 * Locks for tests, in memory and apart from all others: their service, and what a test does to them from outside.
 * `RedisLockTestingModule` provides one; without a module, make one and give its service to what you test.
 */
export class LockTesting implements AsyncDisposable {
  /** What was locked through the service. */
  readonly acquisitions = new Acquisitions();
  readonly service: LockService;
  /** Another client of the same locks, as another process would have. */
  private readonly outsider: LockService;
  private readonly manualClock: ManualClock | undefined;

  /** @throws LockConfigError for an option that cannot be used */
  constructor(options: LockTestingOptions = {}) {
    refuseUnknownOptions('LockTesting', options, TESTING_OPTIONS);
    const { clock = 'system', ...written } = options;
    readChoice('clock', clock, ['system', 'manual']);
    this.manualClock = clock === 'manual' ? new ManualClock() : undefined;
    const time = this.manualClock ?? systemClock;
    const backend = new MemoryBackend(time);
    // Nobody waits at the end for what a test has left held.
    const shutdownTimeout = clock === 'manual' ? 0 : (written.shutdownTimeout ?? 0);
    const resolved = resolveModuleOptions({ ...written, shutdownTimeout, store: () => new MemoryStore(backend) });
    this.outsider = createLockService({ ...resolved, shutdownTimeout: 0 }, logger, { clock: time });
    this.service = createLockService(resolved, logger, {
      clock: time,
      engine: (context) => new RecordingEngine(context, this.acquisitions, () => this.closeOutsider()),
    });
    // In memory that takes no more than a moment, and never fails.
    void Promise.all([this.service.start(), this.outsider.start()]);
  }

  /**
   * The time of these locks.
   * @throws LockConfigError unless it was asked for with `{ clock: 'manual' }`
   */
  get clock(): ManualClock {
    if (this.manualClock !== undefined) return this.manualClock;
    throw new LockConfigError("time passes by itself here; to let a test do that, write { clock: 'manual' }.");
  }

  /**
   * Takes a key as another process would, until it is released or everything is closed. One try, unless `waitTimeout` is
   * given.
   * @throws as `LockService.acquire` does; LockTimeoutError when the key is held
   */
  hold(key: string, options: AcquireOptions = {}): Promise<LockHandle> {
    return this.outsider.acquire(key, { waitTimeout: 0, ...options });
  }

  /** Ends whoever holds a key: their `signal` aborts, and they get the `LockLostError`. `false`: nobody held it. */
  async lose(key: string): Promise<boolean> {
    const events = merge(this.service.events, this.outsider.events);
    let subscription: Subscription | undefined;
    const told = new Promise<void>((resolve) => {
      subscription = events.subscribe((event) => event.type === 'lost' && event.key === key && resolve());
    });
    try {
      const held = await this.outsider.forceRelease(key);
      // Until its holder has heard, and not a moment longer: what fails of that is for the test to expect.
      await Promise.race([told, this.moment()]);
      return held;
    } finally {
      subscription?.unsubscribe();
    }
  }

  private async moment(): Promise<void> {
    await this.manualClock?.advance(0);
    await setImmediate();
  }

  /**
   * Gives the service to an instance that was made with `new`, so that its locked methods work; answers the instance.
   * @throws LockConfigError when its class has no locked methods
   */
  withLocks<T extends object>(instance: T, service: LockService = this.service): T {
    const declared = declaredInstances(instance.constructor);
    if (declared.length === 0) {
      throw new LockConfigError(`${instance.constructor.name} has no methods with @DistributedLock.`);
    }
    for (const { instance: name } of declared) Reflect.set(instance, getLockServiceToken(name), service);
    return instance;
  }

  /**
   * Puts these locks in the place of those of a `RedisLockModule` that the application under test imports, as it is. The
   * one of the same `name`.
   */
  override<Builder extends OverridesProviders>(builder: Builder): Builder {
    const { name } = this.service;
    const token = name === DEFAULT_INSTANCE ? LockService : getLockServiceToken(name);
    builder.overrideProvider(token).useValue(this.service);
    return builder;
  }

  /** Ends everything; the module does so at `app.close()`. */
  async close(): Promise<void> {
    await this.service.close();
  }

  private async closeOutsider(): Promise<void> {
    const closed = this.outsider.close();
    await this.manualClock?.advance(END);
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
