import { Module, type DynamicModule, type InjectionToken, type Provider } from '@nestjs/common';
import { refuseUrls } from '../common/refuse-urls.js';
import { LockService } from '../service/lock.service.js';
import { RedisLockModule } from '../module/redis-lock.module.js';
import type { RedisLockRootOptions } from '../module/redis-lock.options.js';
import { DEFAULT_INSTANCE, getLockServiceToken } from '../module/redis-lock.tokens.js';
import { LockTesting, TESTING_MODULE_OPTIONS, type LockTestingOptions } from './lock-testing.js';

/**
 * The token that provides the `LockTesting` of a named instance. The default instance uses the class.
 * @throws LockConfigError for a URL: its password would be printed with the token
 */
export function getLockTestingToken(name: string = DEFAULT_INSTANCE): InjectionToken<LockTesting> {
  refuseUrls('the name of a RedisLockModule', name);
  return name === DEFAULT_INSTANCE ? LockTesting : Symbol.for(`LockTesting '${name}'`);
}

/**
 * Replaces `RedisLockModule` in tests: the same locks, in memory and separate from all others. It also provides a
 * `LockTesting`.
 */
@Module({})
export class RedisLockTestingModule {
  /**
   * The module for a test. Without options, each call has locks of its own.
   * @throws LockConfigError for an option that cannot be used
   */
  static forRoot(given: LockTestingOptions & Pick<RedisLockRootOptions, 'isGlobal'> = {}): DynamicModule {
    const { instance: name } = TESTING_MODULE_OPTIONS.read('RedisLockTestingModule.forRoot', given);
    const { isGlobal, ...options } = given;
    const { clock: _clock, ...written } = options;
    const {
      providers = [],
      exports = [],
      ...module
    } = RedisLockModule.forRoot({
      ...written,
      store: 'memory',
      isGlobal,
    });
    const token = getLockTestingToken(name);
    const overrides: Provider[] = [
      { provide: token, useFactory: () => new LockTesting(options) },
      {
        provide: name === DEFAULT_INSTANCE ? LockService : getLockServiceToken(name),
        inject: [token],
        useFactory: ({ service }: LockTesting) => service,
      },
    ];
    // If two providers have one token, the later one counts.
    return {
      ...module,
      module: RedisLockTestingModule,
      providers: [...providers, ...overrides],
      exports: [...exports, token],
    };
  }
}
