import type { InjectionToken, ModuleMetadata, Provider, Type } from '@nestjs/common';
import { hints, Options, read } from '../options/option-readers.js';
import { MODULE_OPTIONS, type RedisLockModuleOptions } from './redis-lock.options.js';

/** A class that makes the options of `forRootAsync`. */
export interface RedisLockOptionsFactory {
  createRedisLockOptions(): Promise<RedisLockModuleOptions> | RedisLockModuleOptions;
}

/** The options of `RedisLockModule.forRootAsync`: one of `useFactory`, `useClass` and `useExisting`. */
export interface RedisLockModuleAsyncOptions {
  /**
   * The name of the instance. It must be known before the options exist.
   * @defaultValue 'default'
   */
  instance?: string | undefined;
  /**
   * Whether every module can inject the service without importing this one.
   * @defaultValue true
   */
  isGlobal?: boolean | undefined;
  /** The providers that are passed to `useFactory`. */
  inject?: Array<InjectionToken | { token: InjectionToken; optional: boolean }> | undefined;
  /** A function that gets the providers in `inject`, and returns the options of the module, or a promise of them. */
  useFactory?: ((...args: any[]) => Promise<RedisLockModuleOptions> | RedisLockModuleOptions) | undefined;
  /** A class with `createRedisLockOptions()`. The module creates an instance of it. */
  useClass?: Type<RedisLockOptionsFactory> | undefined;
  /** A provider that has `createRedisLockOptions()`. */
  useExisting?: InjectionToken<RedisLockOptionsFactory> | undefined;
  /** Modules whose providers the factory needs. */
  imports?: NonNullable<ModuleMetadata['imports']> | undefined;
  /** Further providers, which only the factory needs. */
  extraProviders?: Provider[] | undefined;
}

const { instance, isGlobal } = MODULE_OPTIONS.readers;

/** The options of `forRootAsync`. Those of the module come from the factory, except for these two. */
export const ASYNC_OPTIONS = new Options(
  {
    ...{ instance, isGlobal },
    imports: read.list,
    inject: read.list,
    extraProviders: read.list,
    useFactory: read.func('a function that returns the options'),
    useClass: read.func('a class with createRedisLockOptions()'),
    useExisting: read.asWritten,
  },
  hints(MODULE_OPTIONS.names, (name) => `it is made by the factory: return { ${name} } there`),
);

/** The options that the factory makes. The module is registered before, so it must know already whether it is global. */
export const MADE_OPTIONS = MODULE_OPTIONS.without(
  { isGlobal: 'write it beside the factory: forRootAsync({ isGlobal, … })' },
  {},
);
