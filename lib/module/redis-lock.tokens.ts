import { refuseUrls } from '../common/refuse-urls.js';

/** The name of the instance that has no name. */
export const DEFAULT_INSTANCE = 'default';

/** Ends the descriptions of tokens. Nest prints them several times if a module cannot see their providers. */
const modules = (options: string): string =>
  `import RedisLockModule.forRoot(${options}), or RedisLockTestingModule.forRoot(${options}) in a test; with isGlobal: false, in each module that injects it`;

/**
 * The token under which a `LockService` is provided. A symbol by description, so that two loaded copies of this package
 * agree on it. Nest prints the description if there is no such provider.
 *
 * In a unit test it takes a stand-in: `{ provide: getLockServiceToken(), useValue: { run: (key, task) => task() } }`.
 * @throws LockConfigError for a URL, whose password would be printed with the token
 */
export function getLockServiceToken(name: string = DEFAULT_INSTANCE): symbol {
  refuseUrls('the name of a RedisLockModule', name);
  return Symbol.for(
    name === DEFAULT_INSTANCE
      ? `LockService: ${modules('')}`
      : `LockService '${name}': ${modules(`{ instance: '${name}' }`)}`,
  );
}

/** Provides the `LockRegistry`: all instances of the application. */
export const LOCK_REGISTRY: unique symbol = Symbol.for(`RedisLockModule: ${modules('')}`);

/** Provides the name of an instance within its module; the registry finds the instances by it. */
export const INSTANCE_NAME = Symbol.for('nestjs-redis-locks:instance-name');

/** Provides the resolved settings of a dashboard within its module. */
export const DASHBOARD_SETTINGS = Symbol.for('nestjs-redis-locks:dashboard-settings');

/** Provides the resolved options of an instance within its module. */
export const INSTANCE_OPTIONS = Symbol.for('nestjs-redis-locks:instance-options');
