import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import { createLockService, introduction } from '../module/redis-lock.composition.js';
import {
  MODULE_OPTIONS,
  resolveModuleOptions,
  type LockDefaults,
  type RedisLockModuleOptions,
} from '../module/redis-lock.options.js';
import { Options, read } from '../options/option-readers.js';
import { OPTIONS } from '../options/option-table.js';
import { LockService } from '../service/lock.service.js';

/** The parts of a client that are not options of its locks. */
export interface LockClientParts {
  /**
   * Where log lines go.
   * @defaultValue the console, without debug lines
   */
  logger?: LockLogger | undefined;
  /**
   * Where time comes from: a `ManualClock` in tests.
   * @defaultValue the clock of the system
   */
  clock?: Clock | undefined;
}

/** A {@link LockService} outside a Nest application. The code that creates it closes it. */
export class LockClient extends LockService implements AsyncDisposable {
  /**
   * Refuses new acquisitions and rejects all waiters, gives holders `shutdownTimeout` to finish, releases the remaining
   * locks and disconnects. A Redis client of yours stays as it is.
   */
  override close(): Promise<void> {
    this.stopWaiting('this client was closed, create another one with createLockClient()');
    return super.close();
  }

  /** Calls `close()` at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The options of a client: those of `RedisLockModule.forRoot`, without the ones for decorated methods and handlers. */
export interface LockClientOptions extends Omit<RedisLockModuleOptions, 'keyBuilder' | 'defaults' | 'drainTimeout'> {
  /** The options of calls that do not set them. */
  defaults?: Omit<LockDefaults, 'onContended' | 'onUnavailable'> | undefined;
}

/**
 * Writes warnings, errors and notices to the console: without Nest, log lines have no other place. Leaves out the lines that
 * only explain what the library does.
 */
const consoleLogger: LockLogger = {
  debug: () => undefined,
  log: (message) => console.log(line(message)),
  warn: (message) => console.warn(line(message)),
  error: (message) => console.error(line(message)),
};

const line = (message: string): string => `nestjs-redis-locks: ${message}`;

/**
 * Creates a client of the locks without Nest, for scripts and workers that are not Nest applications. It takes the
 * options of `RedisLockModule.forRoot` that do not concern decorators, and excludes the applications that use the same
 * Redis and `keyPrefix`. Close it at the end.
 *
 * ```ts
 * await using locks = await createLockClient({ connection: 'redis://localhost:6379' });
 * await locks.run('import', () => importOrders());
 * ```
 * @throws LockConfigError for an option that cannot be used; LockStoreError if the store cannot be reached within
 *   `commandTimeout`
 */
export async function createLockClient(
  options: LockClientOptions = {},
  parts: LockClientParts = {},
): Promise<LockClient> {
  const { logger = consoleLogger, clock } = PARTS.read('the second argument of createLockClient', parts);
  const resolved = resolveModuleOptions(options, 'createLockClient', CLIENT_OPTIONS);
  const client = createLockService(resolved, logger, { service: LockClient, ...(clock && { clock }) });
  try {
    await client.start();
    if (resolved.store === 'redis') client.keepProcess();
    logger.debug(introduction(client, resolved));
  } catch (error) {
    await client.close();
    throw error;
  }
  return client;
}

/** The object may have more. */
const PARTS = new Options(
  {
    logger: read.withMethods<LockLogger>(['debug', 'log', 'warn', 'error'], "console, Nest's Logger"),
    clock: read.withMethods<Clock>(['now', 'setTimer', 'clearTimer', 'keepAlive'], 'a ManualClock'),
  },
  {},
  true,
);

const OF_METHODS = 'it is for decorated methods and handlers of Nest, which a client does not have';
/** What to write in place of an option that has no effect on a client. */
const INSTEAD: Readonly<Record<string, string>> = {
  logger: 'write it in the second argument: createLockClient(options, { logger })',
  clock: 'write it in the second argument: createLockClient(options, { clock })',
  isGlobal: 'a client has no module, so leave it out',
  keyBuilder: `${OF_METHODS}: build the key where you name it: locks.run(myKey(id), task)`,
  drainTimeout: `${OF_METHODS}: call close(), which gives holders shutdownTimeout`,
  onContended: `${OF_METHODS}: use tryAcquire, which resolves to null, or catch the LockTimeoutError`,
  onUnavailable: `${OF_METHODS}: catch the LockStoreError`,
};

/** The options that a client has. */
const CLIENT_OPTIONS = MODULE_OPTIONS.without(INSTEAD, { defaults: OPTIONS.defaults.without(INSTEAD, {}).nested });
