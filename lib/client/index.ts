// Locks without a Nest application: what differs from the root, and what an application calls by name.
export { createLockClient, type LockClient, type LockClientOptions, type LockClientParts } from './lock-client.js';
export type { LockLogger } from '../common/logger.js';
export type { Clock } from '../common/clock.js';

export { parseDuration } from '../options/option-readers.js';
export { currentLock, findCurrentLock } from '../decorators/current-lock.js';
export { lockKey } from '../keys/index.js';
export type { AcquireOptions, RunOptions } from '../options/acquire-options.js';
export type { LockHandle } from '../service/handles/lock-handle.js';
export {
  isLatchLostError,
  isLockConfigError,
  isLockError,
  isLockKeyError,
  isLockLostError,
  isLockNotHeldError,
  isLockStoreError,
  isLockTimeoutError,
  LatchLostError,
  LockConfigError,
  LockError,
  LockKeyError,
  LockLostError,
  LockNotHeldError,
  LockStoreError,
  LockTimeoutError,
} from '../errors/index.js';
