import type { InjectionToken, ModuleMetadata, Provider, Type } from '@nestjs/common';
import { LockConfigError } from '../errors/index.js';
import { refuseUnreadable } from '../options/own-options.js';
import { refuseUnknownOptions } from '../options/option-readers.js';
import { MODULE_OPTION_NAMES } from './redis-lock.option-table.js';
import type { RedisLockModuleOptions } from './redis-lock.options.js';

/** A class that makes the options of `forRootAsync`. */
export interface RedisLockOptionsFactory {
  createRedisLockOptions(): Promise<RedisLockModuleOptions> | RedisLockModuleOptions;
}

/** The options of `RedisLockModule.forRootAsync`: one of `useFactory`, `useClass` and `useExisting`. */
export interface RedisLockModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** The instance's name; it has to be known before the options are made. */
  name?: string;
  /** Whether every module can inject the service without importing this one. Default `true`. */
  isGlobal?: boolean;
  inject?: Array<InjectionToken | { token: InjectionToken; optional: boolean }>;
  /** Called with what `inject` names. */
  useFactory?: (...args: any[]) => Promise<RedisLockModuleOptions> | RedisLockModuleOptions;
  useClass?: Type<RedisLockOptionsFactory>;
  useExisting?: InjectionToken<RedisLockOptionsFactory>;
  /** Providers that the factory needs and nobody else. */
  extraProviders?: Provider[];
}

const ASYNC_OPTIONS = [
  'name',
  'isGlobal',
  'imports',
  'inject',
  'useFactory',
  'useClass',
  'useExisting',
  'extraProviders',
] satisfies Array<keyof RedisLockModuleAsyncOptions>;

/** @throws LockConfigError for what would be passed over silently */
export function refuseUnknownAsyncOptions(written: unknown): void {
  refuseUnreadable('RedisLockModule.forRootAsync', () => refuseEarlyOptions(written));
  refuseUnknownOptions('RedisLockModule.forRootAsync', written, ASYNC_OPTIONS);
}

function refuseEarlyOptions(written: unknown): void {
  if (typeof written === 'object' && written !== null) {
    const early = Object.keys(written).find(
      (name) =>
        (MODULE_OPTION_NAMES as readonly string[]).includes(name) && !(ASYNC_OPTIONS as string[]).includes(name),
    );
    if (early !== undefined) {
      throw new LockConfigError(
        `RedisLockModule.forRootAsync: ${early} is made by the factory: return { ${early} } there.`,
      );
    }
  }
}
