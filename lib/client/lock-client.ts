import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import { createLockService, introduction } from '../module/redis-lock.composition.js';
import { resolveModuleOptions, type LockDefaults, type RedisLockModuleOptions } from '../module/redis-lock.options.js';
import { LockConfigError } from '../errors/index.js';
import { LockService } from '../service/lock.service.js';

/** The parts of a client that are not options of its locks. */
export interface LockClientParts {
  /**
   * Where log lines go.
   * @defaultValue the console, without debug lines
   */
  logger?: LockLogger;
  /**
   * Where time comes from: a `ManualClock` in tests.
   * @defaultValue the clock of the system
   */
  clock?: Clock;
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
  defaults?: Omit<LockDefaults, 'onContended' | 'onUnavailable'>;
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
  { logger = consoleLogger, clock }: LockClientParts = {},
): Promise<LockClient> {
  refuseOptionsOfMethods(options);
  const resolved = resolveModuleOptions(options, 'createLockClient');
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

/** What to write in place of an option that only decorated methods and handlers read. */
const OF_METHODS: Readonly<Record<string, string>> = {
  keyBuilder: 'build the key where you name it: locks.run(myKey(id), task)',
  drainTimeout: 'call close(), which gives holders shutdownTimeout',
  'defaults.onContended': 'use tryAcquire, which resolves to null, or catch the LockTimeoutError',
  'defaults.onUnavailable': 'catch the LockStoreError',
};

/** @throws LockConfigError for an option that would have no effect */
function refuseOptionsOfMethods(options: unknown): void {
  for (const [name, instead] of Object.entries(OF_METHODS)) {
    const partOf = (whole: unknown, part: string) => (whole as Record<string, unknown> | undefined)?.[part];
    const value = name.split('.').reduce(partOf, options);
    if (value === undefined) continue;
    throw new LockConfigError(
      `createLockClient: ${name} is for decorated methods and handlers of Nest, which a client does not have: ${instead}.`,
    );
  }
}
