import { Logger, Module, type DynamicModule, type InjectionToken, type Provider, type Type } from '@nestjs/common';
import { fromCaller } from '../common/from-caller.js';
import { APP_INTERCEPTOR, ModuleRef, ModulesContainer } from '@nestjs/core';
import { LockConfigError } from '../errors/index.js';
import { RequestContextInterceptor } from '../interceptors/request-context.interceptor.js';
import { LockService } from '../service/lock.service.js';
import { createLockService } from './redis-lock.composition.js';
import { LockExplorer } from './redis-lock.explorer.js';
import { LockLifecycle } from './redis-lock.lifecycle.js';
import {
  ASYNC_OPTIONS,
  MADE_OPTIONS,
  type RedisLockModuleAsyncOptions,
  type RedisLockOptionsFactory,
} from './redis-lock.async-options.js';
import { resolveModuleOptions, type RedisLockRootOptions, type ResolvedModuleOptions } from './redis-lock.options.js';
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
 * imports: [RedisLockModule.forRoot({ connection: 'redis://127.0.0.1:6379' })]
 * ```
 *
 * The module connects while the application starts; startup waits for at most `commandTimeout`. If Redis
 * cannot be reached, the application still starts: the module logs an error, and locks fail with `LockStoreError` until
 * Redis can be reached. At `app.close()`, and on signals after `app.enableShutdownHooks()`, new acquisitions fail
 * after `onModuleDestroy`, holders get `shutdownTimeout` to finish, then the remaining locks are released.
 */
@Module({})
export class RedisLockModule {
  /**
   * The module with options that are known now. For options that depend on other providers, see `forRootAsync`.
   * @throws LockConfigError for an option that cannot be used
   */
  static forRoot(options: RedisLockRootOptions = {}): DynamicModule {
    return fromCaller(() => {
      const resolved = resolveModuleOptions(options);
      const provider = { provide: INSTANCE_OPTIONS, useValue: resolved };
      return instance(resolved.instance, resolved.isGlobal, [], [provider]);
    });
  }

  /**
   * As `forRoot`, with options that a factory makes. The application does not start if they cannot be used.
   * @throws LockConfigError unless exactly one of `useFactory`, `useClass` and `useExisting` is given
   */
  static forRootAsync(options: RedisLockModuleAsyncOptions): DynamicModule {
    return fromCaller(() => {
      const { instance: name, isGlobal } = ASYNC_OPTIONS.read('RedisLockModule.forRootAsync', options);
      const providers = [...optionsProviders(name, options), ...(options.extraProviders ?? [])];
      return instance(name, isGlobal, options.imports ?? [], providers);
    });
  }
}

function instance(
  name: string,
  isGlobal: boolean,
  imports: NonNullable<DynamicModule['imports']>,
  optionsProviders: Provider[],
): DynamicModule {
  const token = getLockServiceToken(name);
  const services = serviceProviders(name, token);
  return {
    module: RedisLockModule,
    global: isGlobal,
    imports,
    providers: [
      ...optionsProviders,
      ...services,
      { provide: INSTANCE_NAME, useValue: name },
      { provide: APP_INTERCEPTOR, useClass: RequestContextInterceptor },
      {
        provide: LOCK_REGISTRY,
        inject: [ModulesContainer, ModuleRef],
        useFactory: (modules: ModulesContainer, moduleRef: ModuleRef) => new LockRegistry(modules, moduleRef),
      },
      {
        provide: LockLifecycle,
        inject: [token, LOCK_REGISTRY, ModulesContainer, INSTANCE_OPTIONS],
        useFactory: (
          service: LockService,
          registry: LockRegistry,
          modules: ModulesContainer,
          options: ResolvedModuleOptions,
        ) => new LockLifecycle(name, service, registry, new LockExplorer(modules, registry), logger, options),
      },
    ],
    exports: [token, LOCK_REGISTRY, ...(name === DEFAULT_INSTANCE ? [LockService] : [])],
  };
}

/**
 * Users inject the class and override it in tests; decorated methods ask for the token. The token is an alias of the class,
 * so that `overrideProvider(LockService)` reaches decorated methods, too.
 */
function serviceProviders(name: string, token: InjectionToken): Provider[] {
  const provide = name === DEFAULT_INSTANCE ? LockService : token;
  const service: Provider = {
    provide,
    inject: [INSTANCE_OPTIONS],
    useFactory: (options: ResolvedModuleOptions): LockService => createLockService(options, logger),
  };
  return provide === token ? [service] : [service, { provide: token, useExisting: LockService }];
}

function optionsProviders(name: string, options: RedisLockModuleAsyncOptions): Provider[] {
  const { useFactory, useClass, useExisting, inject = [] } = options;
  if ([useFactory, useClass, useExisting].filter((given) => given !== undefined).length !== 1) {
    throw new LockConfigError('RedisLockModule.forRootAsync takes one of useFactory, useClass and useExisting.');
  }
  const make = useFactory ?? ((maker: unknown) => optionsFactory(maker, useClass).createRedisLockOptions());
  const made: Provider = {
    provide: INSTANCE_OPTIONS,
    inject: useFactory === undefined ? [(useClass ?? useExisting) as InjectionToken] : inject,
    useFactory: async (...args: unknown[]) => resolveNamed(name, await make(...(args as [unknown]))),
  };
  return useClass === undefined ? [made] : [made, useClass];
}

function optionsFactory(maker: unknown, useClass: Type | undefined): RedisLockOptionsFactory {
  const factory = maker as RedisLockOptionsFactory | null | undefined;
  if (typeof factory?.createRedisLockOptions === 'function') return factory;
  const what = useClass === undefined ? 'what useExisting names' : `the class ${useClass.name} of useClass`;
  throw new LockConfigError(
    `RedisLockModule.forRootAsync: ${what} has no method createRedisLockOptions() that returns the options.`,
  );
}

/** The module is registered before its options are made, so its name cannot come from them. */
function resolveNamed(name: string, made: RedisLockRootOptions): ResolvedModuleOptions {
  const resolved = resolveModuleOptions(made, 'RedisLockModule.forRootAsync, from its factory,', MADE_OPTIONS);
  const { instance: given } = made;
  if (given === undefined || given === name) return { ...resolved, instance: name };
  throw new LockConfigError(
    `the options of RedisLockModule '${name}' have the instance '${given}': ` +
      `write it beside the factory instead: forRootAsync({ instance: '${given}', … }).`,
  );
}
