import { LONGEST_TIMER } from '../common/clock.js';
import type { Duration } from '../common/duration.js';
import { isObject, isSyncFunction } from '../common/type-guards.js';
import { KEY_PREFIX } from '../keys/index.js';
import type { KeyBuilder, OnContended, OnLost, OnUnavailable, RunOptions } from '../options/acquire-options.js';
import { hints, Options, or, read, related, type ReadOptions } from '../options/option-readers.js';
import { OPTIONS } from '../options/option-table.js';
import type { CallDefaults } from '../options/resolve-acquire-options.js';
import { readConnections, refuseOtherPrefix, SERVER_OPTIONS } from './redis-lock.connection.js';
import type { LockConnectionOption } from './redis-lock.connection.js';
import { defaultLabel, readLabel } from './redis-lock.label.js';
import type { LockProtocol } from './redis-lock.protocol.js';
import type { LockStoreChoice } from './redis-lock.store.js';
import { DEFAULT_INSTANCE } from './redis-lock.tokens.js';

/** The options of `RedisLockModule`, as they are written. */
export interface RedisLockModuleOptions {
  /**
   * Tells several instances of the module apart: `@InjectLockService(name)`, `@DistributedLock({ instance: name })`.
   * @defaultValue 'default'
   */
  instance?: string | undefined;
  /**
   * Where Redis is: a URL, ioredis options, your own client (ioredis or node-redis), a Cluster, or a list of three or more
   * independent masters (Redlock). The module makes its own connections, and never uses or closes your client.
   * `undefined` is refused.
   * @defaultValue 'redis://127.0.0.1:6379'
   */
  connection?: LockConnectionOption | undefined;
  /**
   * Where the locks are stored. `'redis'`: in Redis. `'memory'`: in this process, for development and for services with a
   * single process; `connection` is then ignored. A function of `LockStoreContext`: returns a store of your own.
   * @defaultValue 'redis'
   */
  store?: LockStoreChoice | undefined;
  /**
   * The layout of the locks in Redis. `redisson()`, which `nestjs-redis-locks/redisson` exports: the layout of
   * Redisson, so that Java services and this service exclude each other. Without effect unless `store` is `'redis'`.
   * @defaultValue the layout of this library
   */
  protocol?: LockProtocol | undefined;
  /**
   * The prefix of every key and channel in Redis. Cannot be combined with `protocol`, which uses its own names.
   * @defaultValue 'lock'
   */
  keyPrefix?: string | undefined;
  /**
   * Names this process wherever a lock is shown with its holder. Up to 64 printable ASCII characters without spaces. The
   * default is the host and the process id, such as `orders-7f9c:17`. It is public: never write a secret into it.
   */
  label?: string | undefined;
  /**
   * Builds the final key of decorated methods and handlers from the key of the decorator, for example with a tenant from
   * nestjs-cls. Runs at each call, in its async context. Does not apply to calls of `LockService`.
   */
  keyBuilder?: KeyBuilder | undefined;
  /**
   * The lease of a renewed lock (`expire: 0`), in milliseconds or `'30s'`. The watchdog renews the lease after each
   * third. At least 50 ms; use several seconds in production.
   * @defaultValue 30 s
   */
  renewedLease?: Duration | undefined;
  /** Options for all calls and decorated methods that do not set them. */
  defaults?: LockDefaults | undefined;
  /**
   * How long one round trip to Redis may take before it counts as failed. In a Cluster, make it longer than a failover takes.
   * @defaultValue 5 s
   */
  commandTimeout?: Duration | undefined;
  /**
   * How long a shutdown waits for the holders of locks to finish.
   * @defaultValue 10 s
   */
  shutdownTimeout?: Duration | undefined;
  /**
   * How long a shutdown leaves the locks of open HTTP requests alone. Then their holders get `shutdownTimeout`, too, although
   * Nest waits for the requests without a limit. `Infinity`: the locks are renewed as long as Nest waits.
   * @defaultValue Infinity
   */
  drainTimeout?: Duration | undefined;
  /**
   * The first lease of a lock that is handed off to a waiter, at least 50 ms. If the waiter crashes as it is granted the
   * lock, it blocks the other waiters for this long.
   * @defaultValue 3 s
   */
  grantTimeout?: Duration | undefined;
  /**
   * How many waiters of one process get a key one after the other, without Redis, before another process gets it: 1 to 500.
   * `1`: the processes take turns after each waiter, and each reader has a hold of its own.
   * @defaultValue 200
   */
  localHandoffs?: number | undefined;
  /**
   * For how long the waiters of one process get a key one after the other, pass permits on, or join a reader. Another
   * process waits for at most this long, plus the critical sections that are running.
   * @defaultValue 10 ms
   */
  localHandoffTime?: Duration | undefined;
}

/** Defaults of a module instance. Each option has the same meaning as in a call. */
export interface LockDefaults extends Pick<
  RunOptions,
  'expire' | 'maxRenewTimes' | 'waitTimeout' | 'holdAtLeast' | 'replicas' | 'release'
> {
  /**
   * What decorated methods and handlers do if others hold the lock for the whole wait.
   * @defaultValue 'throw'
   */
  onContended?: OnContended | undefined;
  /**
   * What decorated methods and handlers do if Redis cannot grant the lock.
   * @defaultValue 'throw'
   */
  onUnavailable?: OnUnavailable | undefined;
  /**
   * What decorated methods, handlers and `run` do if the lock is lost before the work ends.
   * @defaultValue 'throw'
   */
  onLost?: OnLost | undefined;
}

/** The options of `RedisLockModule.forRoot`. */
export interface RedisLockRootOptions extends RedisLockModuleOptions {
  /**
   * Whether every module can inject the service without importing this one.
   * @defaultValue true
   */
  isGlobal?: boolean | undefined;
}

/** A batch reserves a fencing token for each of its turns, whether a waiter takes the turn or not. */
const MOST_LOCAL_HANDOFFS = 500;
/** Connections set timers of Node for it, and for a little more. */
const LONGEST_COMMAND = LONGEST_TIMER / 2;

/** The one table of the module's options: how each is read, and what applies if it is left out, in milliseconds. */
export const MODULE_OPTIONS = new Options(
  {
    instance: or(read.instance, DEFAULT_INSTANCE),
    connection: or((_label: string, written: unknown) => readConnections(written), 'redis://127.0.0.1:6379'),
    store: or(
      read.checked<LockStoreChoice>(
        (written) => written === 'redis' || written === 'memory' || isSyncFunction(written),
        "'redis', 'memory' or a function that makes a store at once: (parts) => new MyStore(parts)",
      ),
      'redis',
    ),
    protocol: read.checked<LockProtocol>(
      (written) => isObject(written) && 'createStore' in written,
      'redisson(), which nestjs-redis-locks/redisson exports, or leave it out',
    ),
    keyPrefix: or(
      related(
        read.text(
          KEY_PREFIX,
          "1 to 64 letters, digits, '_', '-', '.' and ':', such as 'lock' or 'shop:lock', without ':state', which begins the name " +
            'of a lock',
        ),
        (_, { protocol }) =>
          protocol !== undefined &&
          'has no effect beside a protocol, which has names of its own: leave it out, and write redisson({ nameMapper }) if the ' +
            'names differ from the keys',
      ),
      'lock',
    ),
    label: readLabel,
    keyBuilder: read.syncFunc<KeyBuilder>('a function that returns the key at once: (key) => `${tenant()}:${key}`'),
    renewedLease: or(read.lease, 30_000),
    defaults: or(
      related(
        OPTIONS.defaults.nested,
        ({ replicas }, { connection }) =>
          replicas !== undefined &&
          Array.isArray(connection) &&
          'ask for replicas, but several independent masters (Redlock) take the place of replicas: leave the option out',
      ),
      OPTIONS.defaults.defaults,
    ),
    commandTimeout: or(read.atLeast(1, LONGEST_COMMAND), 5_000),
    shutdownTimeout: or(read.duration, 10_000),
    drainTimeout: or(read.wait, Infinity),
    grantTimeout: or(read.lease, 3_000),
    localHandoffs: or(read.count(1, MOST_LOCAL_HANDOFFS), 200),
    localHandoffTime: or(read.duration, 10),
    isGlobal: or(read.flag, true),
  },
  {
    cluster: 'write connection: { cluster: [{ host, port }, …] }',
    useFactory: 'write RedisLockModule.forRootAsync({ useFactory })',
    logger: "log lines go to Nest's logger: write app.useLogger(…)",
    // `name` is an option of Sentinels, and probably meant as `instance`.
    ...hints(
      SERVER_OPTIONS.names.filter((name) => name !== 'name'),
      (name) => `write connection: { ${name} }`,
    ),
    ...hints(OPTIONS.defaults.names, (name) => `write defaults: { ${name} }`),
  },
);

/** The options as they are used: complete, checked, in milliseconds. */
export type ResolvedModuleOptions = Omit<
  ReadOptions<typeof MODULE_OPTIONS.readers>,
  'connection' | 'label' | 'defaults'
> & {
  /** A function, because Nest keeps the options where they can be printed, and a connection may contain a password. */
  readonly connection: () => LockConnectionOption;
  readonly label: string;
  readonly defaults: CallDefaults;
  /** The defaults as they were written, for warnings. */
  readonly writtenDefaults: LockDefaults;
};

/**
 * Checks options and completes them.
 * @param table the options that there are, if some do not apply
 * @throws LockConfigError for the first that cannot be used; its message names it and says what to write instead
 */
export function resolveModuleOptions(
  written: RedisLockModuleOptions,
  label = 'RedisLockModule',
  table: Options<any> = MODULE_OPTIONS,
): ResolvedModuleOptions {
  const options: typeof MODULE_OPTIONS.defaults = { ...MODULE_OPTIONS.defaults, ...table.read(label, written) };
  const { connection, store, protocol, keyPrefix, renewedLease, keyBuilder } = options;
  const defaults = { ...OPTIONS.defaults.defaults, ...options.defaults };
  // Probably a variable that is not set. Other stores need no connection.
  if (store === 'redis' && Object.hasOwn(written, 'connection')) readConnections(written.connection);
  if (store === 'redis') refuseOtherPrefix(connection, protocol === undefined ? keyPrefix : undefined);
  const writtenDefaults = written.defaults ?? (Object.create(null) as LockDefaults);
  return Object.freeze({
    ...options,
    connection: () => connection,
    label: options.label ?? defaultLabel(),
    defaults: Object.freeze({
      ...{ ...defaults, renewedLease, keyBuilder },
      methodWaitTimeout: writtenDefaults.waitTimeout === undefined ? 0 : defaults.waitTimeout,
    }),
    writtenDefaults,
  });
}
