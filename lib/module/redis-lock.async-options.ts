import type { InjectionToken, ModuleMetadata, Provider, Type } from '@nestjs/common';
import { LockConfigError } from '../errors/index.js';
import { refuseUnknownOptions } from '../options/option-readers.js';
import { MODULE_OPTIONS } from './redis-lock.option-table.js';
import type { RedisLockModuleOptions } from './redis-lock.options.js';

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
  instance?: string;
  /**
   * Whether every module can inject the service without importing this one.
   * @defaultValue true
   */
  isGlobal?: boolean;
  /** The providers that are passed to `useFactory`. */
  inject?: Array<InjectionToken | { token: InjectionToken; optional: boolean }>;
  /** A function that gets the providers in `inject`, and returns the options of the module, or a promise of them. */
  useFactory?: (...args: any[]) => Promise<RedisLockModuleOptions> | RedisLockModuleOptions;
  /** A class with `createRedisLockOptions()`. The module creates an instance of it. */
  useClass?: Type<RedisLockOptionsFactory>;
  /** A provider that has `createRedisLockOptions()`. */
  useExisting?: InjectionToken<RedisLockOptionsFactory>;
  /** Modules whose providers the factory needs. */
  imports?: NonNullable<ModuleMetadata['imports']>;
  /** Further providers, which only the factory needs. */
  extraProviders?: Provider[];
}

const ASYNC_OPTIONS = [
  'instance',
  'isGlobal',
  'imports',
  'inject',
  'useFactory',
  'useClass',
  'useExisting',
  'extraProviders',
] satisfies Array<keyof RedisLockModuleAsyncOptions>;

/** @throws LockConfigError for an option that would be ignored silently */
export function refuseUnknownAsyncOptions(written: unknown): void {
  refuseEarlyOptions(written);
  refuseUnknownOptions('RedisLockModule.forRootAsync', written, ASYNC_OPTIONS);
}

function refuseEarlyOptions(written: unknown): void {
  if (typeof written !== 'object' || written === null) return;
  const early = Object.keys(written).find(
    (name) => MODULE_OPTIONS.names.includes(name) && !(ASYNC_OPTIONS as string[]).includes(name),
  );
  if (early === undefined) return;
  throw new LockConfigError(
    `RedisLockModule.forRootAsync: ${early} is made by the factory: return { ${early} } there.`,
  );
}
