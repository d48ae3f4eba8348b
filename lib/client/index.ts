// Locks without a Nest application. In reading order: create a client, lock by hand, handle what can go wrong.
export { createLockClient, type LockClient, type LockClientOptions, type LockClientParts } from './lock-client.js';
export type { LockDefaults, RedisLockModuleOptions } from '../module/redis-lock.options.js';
export type { LockProtocol } from '../module/redis-lock.protocol.js';
export type { LockStoreChoice } from '../module/redis-lock.store.js';
export type {
  LockConnectionOption,
  RedisClusterOption,
  RedisConnectionOption,
} from '../module/redis-lock.connection.js';
export type { LockLogger } from '../common/logger.js';
export type { Clock } from '../common/clock.js';
export type { Duration } from '../common/duration.js';
export { parseDuration } from '../options/duration-text.js';
export { currentLock } from '../decorators/current-lock.js';
export type { KeyBuilder, LockedMethodCall } from '../options/key-builder.js';
export { lockKey, type KeyPart } from '../keys/index.js';

export { LockService } from '../service/lock.service.js';
export type {
  AcquireOptions,
  LockLostListener,
  LockKind,
  OnContended,
  OnLost,
  OnUnavailable,
  ReplicaOptions,
  RunOptions,
} from '../options/acquire-options.js';
export type { LockHandle } from '../service/handles/lock-handle.js';
export type { LockObject, LockCallOptions, LockObjectOptions, ReadWriteLock } from '../service/objects/lock.js';
export type {
  Semaphore,
  SemaphoreCallOptions,
  SemaphoreDrainOptions,
  SemaphoreOptions,
  SemaphoreRunOptions,
} from '../service/objects/semaphore.js';
export type {
  CountDownLatch,
  LatchCountOptions,
  LatchOptions,
  LatchWaitOptions,
} from '../service/objects/count-down-latch.js';
export type {
  DeposedListener,
  ElectedListener,
  LeaderElection,
  LeaderElectionOptions,
} from '../service/objects/leader-election.js';
export type { LockHealth, LockHealthOptions } from '../service/lock-health.js';
export type { LockHolder, LockState, LockWaiter } from '../service/lock-state.js';
export type {
  LockAcquiredEvent,
  LockContendedEvent,
  LockEvent,
  LockLostEvent,
  LockReleasedEvent,
  LockRenewedEvent,
  LockSkippedEvent,
  LockTimeoutEvent,
  LockUnreleasedEvent,
} from '../engine/lock-event.js';

export {
  LOCK_CHANNELS,
  type AcquiredLock,
  type LockAcquisition,
  type LockDiagnostics,
} from '../observation/diagnostics/index.js';

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
  type LockErrorCode,
  type LockErrorDetails,
} from '../errors/index.js';
