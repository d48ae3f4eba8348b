import { Logger } from '@nestjs/common';
import type { LockLogger } from '../common/logger.js';
import type { LockService } from '../service/lock.service.js';
import { createLockService } from '../module/redis-lock.composition.js';
import { resolveModuleOptions, type RedisLockModuleOptions } from '../module/redis-lock.options.js';
import type { ManualClock } from './manual-clock.js';

/** The parts of a client, besides its options. */
export interface LockClientParts {
  clock?: ManualClock;
  /** Default: Nest's logger. */
  logger?: LockLogger;
}

/**
 * Creates a started service without Nest, for example for a `LockStoreHarness`. Close its store to end it.
 * @throws LockConfigError for an option that cannot be used; LockStoreError if its store does not start
 */
export async function createLockClient(
  options: RedisLockModuleOptions = {},
  { clock, logger = new Logger('RedisLock') }: LockClientParts = {},
): Promise<LockService> {
  const service = createLockService(resolveModuleOptions(options), logger, clock === undefined ? {} : { clock });
  await service.start();
  return service;
}
