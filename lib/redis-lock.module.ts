import { Logger, Module, type DynamicModule, type InjectionToken, type Provider } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { LockConfigError } from './errors/index.js';
import { LockService } from './lock.service.js';
import { createLockService } from './redis-lock.composition.js';
import { LockExplorer } from './redis-lock.explorer.js';
import { LockLifecycle } from './redis-lock.lifecycle.js';
import {
  readInstanceName,
  resolveModuleOptions,
  type RedisLockModuleAsyncOptions,
  type RedisLockModuleOptions,
  type RedisLockOptionsFactory,
  type RedisLockRootOptions,
  type ResolvedModuleOptions,
} from './redis-lock.options.js';
import { LockRegistry } from './redis-lock.registry.js';
import {
  DEFAULT_INSTANCE,
  getLockServiceToken,
  INSTANCE_NAME,
  INSTANCE_OPTIONS,
  LOCK_REGISTRY,
} from './redis-lock.tokens.js';

const logger = new Logger('RedisLock');

/**
 * Sets up locks on one Redis. Import it once in the root module:
 *
 * ```ts
 * @Module({ imports: [RedisLockModule.forRoot({ connection: 'redis://localhost:6379' })] })
 * ```
 *
 * It connects while the application starts, which waits for that at most `commandTimeout`. When Redis cannot be reached
 * the application starts all the same: an error is logged, and locks fail with `LockStoreError` until it can. At
 * `app.close()`, and on signals after `app.enableShutdownHooks()`, nobody may wait any more, holders are given
 * `shutdownTimeout`, and what they leave is released.
 */
@Module({})
export class RedisLockModule {
  /** @throws LockConfigError for an option that cannot be used */
  static forRoot(options: RedisLockRootOptions = {}): DynamicModule {
    const resolved = resolveModuleOptions(options);
    return instance(resolved.name, options.isGlobal, [], [{ provide: INSTANCE_OPTIONS, useValue: resolved }]);
  }

  /**
   * Like `forRoot`, with options that other providers make. The application does not start when they cannot be used.
   * @throws LockConfigError unless exactly one of `useFactory`, `useClass` and `useExisting` is given
   */
  static forRootAsync(options: RedisLockModuleAsyncOptions): DynamicModule {
    const name = readInstanceName(options.name);
    const providers = [...optionsProviders(name, options), ...(options.extraProviders ?? [])];
    return instance(name, options.isGlobal, options.imports ?? [], providers);
  }
}

function instance(
  name: string,
  isGlobal: boolean | undefined,
  imports: NonNullable<DynamicModule['imports']>,
  optionsProviders: Provider[],
): DynamicModule {
  const token = getLockServiceToken(name);
  const services = serviceProviders(name, token);
  return {
    module: RedisLockModule,
    global: isGlobal ?? true,
    imports,
    providers: [
      ...optionsProviders,
      ...services,
      { provide: INSTANCE_NAME, useValue: name },
      {
        provide: LOCK_REGISTRY,
        inject: [ModulesContainer, ModuleRef],
        useFactory: (modules: ModulesContainer, moduleRef: ModuleRef) => new LockRegistry(modules, moduleRef),
      },
      {
        provide: LockLifecycle,
        inject: [token, LOCK_REGISTRY, ModulesContainer],
        useFactory: (service: LockService, registry: LockRegistry, modules: ModulesContainer) =>
          new LockLifecycle(name, service, registry, new LockExplorer(modules, registry), logger),
      },
    ],
    exports: [token, LOCK_REGISTRY, ...(name === DEFAULT_INSTANCE ? [LockService] : [])],
  };
}

/**
 * The class is what people inject and override in tests, the token what decorated methods ask for. The token is the
 * alias, so that `overrideProvider(LockService)` reaches them, too.
 */
function serviceProviders(name: string, token: InjectionToken): Provider[] {
  const provide = name === DEFAULT_INSTANCE ? LockService : token;
  const service: Provider = {
    provide,
    inject: [INSTANCE_OPTIONS],
    useFactory: (options: ResolvedModuleOptions) => createLockService(options, logger),
  };
  return provide === token ? [service] : [service, { provide: token, useExisting: LockService }];
}

function optionsProviders(name: string, options: RedisLockModuleAsyncOptions): Provider[] {
  const { useFactory, useClass, useExisting, inject = [] } = options;
  if ([useFactory, useClass, useExisting].filter((given) => given !== undefined).length !== 1) {
    throw new LockConfigError('RedisLockModule.forRootAsync takes one of useFactory, useClass and useExisting.');
  }
  const resolve = (written: RedisLockModuleOptions): ResolvedModuleOptions => resolveNamed(name, written);

  if (useFactory !== undefined) {
    const make = useFactory as (...args: unknown[]) => Promise<RedisLockModuleOptions> | RedisLockModuleOptions;
    return [
      { provide: INSTANCE_OPTIONS, inject, useFactory: async (...args: unknown[]) => resolve(await make(...args)) },
    ];
  }
  const factory = useClass ?? (useExisting as InjectionToken<RedisLockOptionsFactory>);
  const made: Provider = {
    provide: INSTANCE_OPTIONS,
    inject: [factory],
    useFactory: async (maker: RedisLockOptionsFactory) => resolve(await maker.createRedisLockOptions()),
  };
  return useClass === undefined ? [made] : [made, useClass];
}

/** The module stands before its options are made, so its name and whether it is global cannot come from them. */
function resolveNamed(name: string, written: RedisLockRootOptions = {}): ResolvedModuleOptions {
  if (written.isGlobal !== undefined) {
    throw new LockConfigError(
      'isGlobal comes too late here: write it beside the factory: forRootAsync({ isGlobal, … }).',
    );
  }
  if (written.name !== undefined && written.name !== name) {
    throw new LockConfigError(
      `the options of RedisLockModule '${name}' have the name '${written.name}': ` +
        `write it beside the factory instead: forRootAsync({ name: '${written.name}', … }).`,
    );
  }
  return resolveModuleOptions({ ...written, name });
}
