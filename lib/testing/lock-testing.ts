import { setImmediate } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { merge, type Subscription } from 'rxjs';
import { systemClock } from '../common/clock.js';
import type { Duration } from '../common/duration.js';
import { declaredInstances } from '../decorators/method-lock-metadata.js';
import { LockConfigError } from '../errors/index.js';
import { LockService } from '../service/lock.service.js';
import type { AcquireOptions } from '../options/acquire-options.js';
import type { LockHandle } from '../service/handles/lock-handle.js';
import { fault, or, read } from '../options/option-readers.js';
import { createLockService } from '../module/redis-lock.composition.js';
import { MODULE_OPTIONS, resolveModuleOptions, type RedisLockModuleOptions } from '../module/redis-lock.options.js';
import { LockRegistry } from '../module/redis-lock.registry.js';
import { DEFAULT_INSTANCE, getLockServiceToken, LOCK_REGISTRY } from '../module/redis-lock.tokens.js';
import { MemoryBackend } from '../store/memory/memory-backend.js';
import { memoryStore } from '../store/memory/memory-store.js';
import { Acquisitions } from './acquisitions.js';
import { ManualClock } from './manual-clock.js';
import { RecordingEngine } from './recording-engine.js';

/**
 * The options of `LockTesting`: those of the module, and the clock. `connection` is not used, because nothing is kept
 * in Redis. The default of `shutdownTimeout` is 0.
 */
export interface LockTestingOptions extends Omit<RedisLockModuleOptions, 'store'> {
  /**
   * `'system'`: time passes. `'manual'`: time passes only when the test calls `clock.advance(ms)`.
   * @defaultValue 'system'
   */
  clock?: 'system' | 'manual' | undefined;
  /**
   * How long closing waits for holders of locks to finish.
   * @defaultValue 0
   */
  shutdownTimeout?: Duration | undefined;
}

/** The methods of Nest's `TestingModuleBuilder` that replace a provider. */
export interface OverridesProviders {
  overrideProvider(token: any): {
    useValue(value: any): unknown;
    useFactory(options: { factory: (...args: any[]) => any; inject?: any[] }): unknown;
  };
}

/** The options of `RedisLockTestingModule`. */
export const TESTING_MODULE_OPTIONS = MODULE_OPTIONS.without(
  { store: 'the locks of tests are in memory, so leave it out' },
  { clock: or(read.oneOf<'system' | 'manual'>(['system', 'manual']), 'system') },
);
const TESTING_OPTIONS = TESTING_MODULE_OPTIONS.without(
  { isGlobal: 'it is an option of RedisLockTestingModule.forRoot' },
  {},
);

/** How many ms of a manual clock must pass for immediate timers to fire. */
const END = 2;

const logger = new Logger('RedisLock');

/** The services that a builder gets in place of those of the application, by the names of their instances. */
const REPLACED = new WeakMap<OverridesProviders, Map<string, LockService>>();

/**
 * Locks for tests, in memory and separate from all others: their service, and methods that act on them from outside.
 * `RedisLockTestingModule` provides one. Without a module, make one and pass its service to the code under test.
 */
export class LockTesting implements AsyncDisposable {
  /** What was locked through the service. */
  readonly acquisitions = new Acquisitions();
  readonly service: LockService;
  /** Another client of the same locks, like another process. */
  private readonly outsider: LockService;
  private readonly manualClock: ManualClock | undefined;

  /** @throws LockConfigError for an option that cannot be used */
  constructor(options: LockTestingOptions = {}) {
    const { clock } = TESTING_OPTIONS.read('new LockTesting', options);
    const { clock: _clock, ...written } = options;
    this.manualClock = clock === 'manual' ? new ManualClock() : undefined;
    const time = this.manualClock ?? systemClock;
    const backend = new MemoryBackend(time);
    // With a manual clock, closing must not wait for locks that the test left held.
    const shutdownTimeout = clock === 'manual' ? 0 : (written.shutdownTimeout ?? 0);
    const resolved = resolveModuleOptions({ ...written, shutdownTimeout, store: () => memoryStore(backend) });
    this.outsider = createLockService({ ...resolved, shutdownTimeout: 0 }, logger, { clock: time });
    this.service = createLockService(resolved, logger, {
      clock: time,
      engine: (context) => new RecordingEngine(context, this.acquisitions, () => this.closeOutsider()),
    });
    // In memory, starting takes no time and never fails.
    void Promise.all([this.service.start(), this.outsider.start()]);
  }

  /**
   * The clock of these locks.
   * @throws LockConfigError unless the option `clock: 'manual'` is set
   */
  get clock(): ManualClock {
    if (this.manualClock !== undefined) return this.manualClock;
    throw new LockConfigError(
      "clock needs a manual clock, and these locks use the real one: write { clock: 'manual' }.",
    );
  }

  /**
   * Acquires a key as another process would, until it is released or the locks are closed. Tries once, unless
   * `waitTimeout` is given.
   * @throws the errors of `LockService.acquire`; LockTimeoutError if the key is held
   */
  hold(key: string, options: AcquireOptions = {}): Promise<LockHandle> {
    return this.outsider.acquire(key, { ...options, waitTimeout: options.waitTimeout ?? 0 });
  }

  /**
   * Ends all holds of a key: their `signal` aborts with the `LockLostError`. Resolves to `false` if the key was not
   * held.
   */
  async lose(key: string): Promise<boolean> {
    const events = merge(this.service.events, this.outsider.events);
    let subscription: Subscription | undefined;
    const told = new Promise<void>((resolve) => {
      subscription = events.subscribe((event) => event.type === 'lost' && event.key === key && resolve());
    });
    try {
      const held = await this.outsider.forceRelease(key);
      // Waits only until the holder has received it. What fails then is for the test to expect.
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
   * Passes the service to an instance that was made with `new`, so that its locked methods work. Returns the instance.
   * @throws LockConfigError if its class has no locked methods
   */
  withLocks<T extends object>(instance: T, service: LockService = this.service): T {
    const label = 'the instance of withLocks';
    // An interceptor of Nest locks handlers with @UseLock. Nothing does so here.
    const declared = declaredInstances((instance as T | null | undefined)?.constructor).filter((lock) => lock.wrapper);
    if (declared.length === 0)
      throw fault(
        label,
        instance,
        ', which has no methods with @DistributedLock: pass an instance of a class with such a method',
      );
    for (const { instance: name } of declared) {
      if (!Reflect.set(instance, getLockServiceToken(name), service))
        throw fault(label, instance, ' that is frozen: pass it before it is frozen');
    }
    return instance;
  }

  /**
   * Replaces the locks of a `RedisLockModule` that the application under test imports: the one with the same `instance`. The
   * options of that module do not apply. Pass the options that the test needs, such as `keyBuilder`, to `new LockTesting(…)`.
   * Without a module of this name, the application does not start.
   */
  override<Builder extends OverridesProviders>(builder: Builder): Builder {
    const { instance: name } = this.service;
    const token = name === DEFAULT_INSTANCE ? LockService : getLockServiceToken(name);
    builder.overrideProvider(token).useValue(this.service);
    const replaced = REPLACED.get(builder) ?? new Map<string, LockService>();
    REPLACED.set(builder, replaced.set(name, this.service));
    builder.overrideProvider(LOCK_REGISTRY).useFactory({
      inject: [ModulesContainer, ModuleRef],
      factory: (modules: ModulesContainer, moduleRef: ModuleRef) => new LockRegistry(modules, moduleRef, replaced),
    });
    return builder;
  }

  /** Closes everything. The module does so at `app.close()`. */
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
