import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import { createLockService } from '../module/redis-lock.composition.js';
import { resolveModuleOptions, type RedisLockModuleOptions } from '../module/redis-lock.options.js';
import { LockService } from '../service/lock.service.js';
import { consoleLogger } from './console-logger.js';

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
   * locks and disconnects. A Redis client of yours stays connected.
   */
  override close(): Promise<void> {
    return super.close();
  }

  /** Calls `close()` at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Creates a client of the locks without Nest, for scripts and workers that are not Nest applications. It takes the options
 * of `RedisLockModule.forRoot` and excludes the applications that use the same Redis and `keyPrefix`. Close it in the end.
 *
 * ```ts
 * await using locks = await createLockClient({ connection: 'redis://localhost:6379' });
 * await locks.run('import', () => importOrders());
 * ```
 * @throws LockConfigError for an option that cannot be used; LockStoreError if the store cannot be reached within
 * `commandTimeout`
 */
export async function createLockClient(
  options: RedisLockModuleOptions = {},
  { logger = consoleLogger, clock }: LockClientParts = {},
): Promise<LockClient> {
  const resolved = resolveModuleOptions(options, 'createLockClient');
  const client = createLockService(resolved, logger, { service: LockClient, ...(clock && { clock }) });
  try {
    await client.start();
  } catch (error) {
    await client.close();
    throw error;
  }
  return client;
}
