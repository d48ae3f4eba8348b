import { Logger } from '@nestjs/common';
import type { LockLogger } from '../common/logger.js';
import type { LockService } from '../service/lock.service.js';
import { createLockService } from '../module/redis-lock.composition.js';
import { resolveModuleOptions, type RedisLockModuleOptions } from '../module/redis-lock.options.js';
import type { ManualClock } from './manual-clock.js';

/** What a client is made of beside its options. */
export interface LockClientParts {
  clock?: ManualClock;
  /** Default: Nest's. */
  logger?: LockLogger;
}

/**
 * A started service without Nest, such as a `LockStoreHarness` needs. Whoever closes its store ends it.
 * @throws LockConfigError for an option that cannot be used; LockStoreError when its store does not start
 */
export async function createLockClient(
  options: RedisLockModuleOptions = {},
  { clock, logger = new Logger('RedisLock') }: LockClientParts = {},
): Promise<LockService> {
  const service = createLockService(resolveModuleOptions(options), logger, clock === undefined ? {} : { clock });
  await service.start();
  return service;
}
