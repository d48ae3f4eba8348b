// In reading order: set it up, lock a method, lock a handler, lock by hand, handle what can go wrong.
export { RedisLockModule } from './module/redis-lock.module.js';
export type { LockDefaults, RedisLockModuleOptions, RedisLockRootOptions } from './module/redis-lock.options.js';
export type { LockProtocol } from './module/redis-lock.protocol.js';
export type { LockStoreChoice } from './module/redis-lock.store.js';
export type { RedisLockModuleAsyncOptions, RedisLockOptionsFactory } from './module/redis-lock.async-options.js';
export type {
  LockConnectionOption,
  RedisClusterOption,
  RedisConnectionOption,
} from './module/redis-lock.connection.js';
export type { LockCredentials, LockCredentialsProvider } from './store/redis/lock-credentials.js';
export type { NodeRedisClient } from './store/redis/node-redis-lines.js';
export type { Duration } from './common/duration.js';
export { parseDuration } from './options/duration-text.js';

export { DistributedLock } from './decorators/distributed-lock.decorator.js';
export type { DistributedLockOptions, LockKey, LockMethodOptions } from './decorators/lock-method.options.js';
export type { Lockable, LockMethodDecorator, Subscribable } from './decorators/lock-method.types.js';
export { currentLock } from './decorators/current-lock.js';
export { methodKey, type MethodKey } from './decorators/method-key.js';
export type { KeyBuilder, LockedMethodCall } from './options/key-builder.js';
export { lockKey, type KeyPart } from './keys/index.js';

export { UseLock, type UseLockArgs, type UseLockOptions } from './interceptors/use-lock.decorator.js';
export type { LockRequest } from './interceptors/lock-request.js';
export { DistributedLockInterceptor } from './interceptors/distributed-lock.interceptor.js';
export { LockExceptionFilter, type LockExceptionFilterOptions } from './interceptors/lock-exception.filter.js';

export { LockService } from './service/lock.service.js';
export { InjectLockService } from './decorators/inject-lock-service.decorator.js';
export { getLockServiceToken } from './module/redis-lock.tokens.js';
export type {
  AcquireOptions,
  AdoptOptions,
  LockLostListener,
  LockKind,
  OnContended,
  OnLost,
  OnUnavailable,
  ReleaseMode,
  ReplicaOptions,
  RunOptions,
} from './options/acquire-options.js';
export type { LockHandle } from './service/handles/lock-handle.js';
export type { LockObject, LockCallOptions, LockObjectOptions, ReadWriteLock } from './service/objects/lock.js';
export type {
  Semaphore,
  SemaphoreCallOptions,
  SemaphoreDrainOptions,
  SemaphoreOptions,
  SemaphoreRunOptions,
} from './service/objects/semaphore.js';
export type {
  CountDownLatch,
  LatchCountOptions,
  LatchOptions,
  LatchWaitOptions,
} from './service/objects/count-down-latch.js';
export type {
  DeposedListener,
  ElectedListener,
  LeaderElection,
  LeaderElectionOptions,
} from './service/objects/leader-election.js';
export type { LockHealth, LockHealthOptions } from './service/lock-health.js';
export type { ForceReleaseOptions } from './service/force-release.options.js';
export type { LockListOptions } from './service/list-locks.js';
export type { LockHolder, LockState, LockWaiter } from './service/lock-state.js';
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
} from './engine/lock-event.js';

export {
  LOCK_CHANNELS,
  type AcquiredLock,
  type LockAcquisition,
  type LockDiagnostics,
} from './observation/diagnostics/index.js';

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
  type LossReason,
} from './errors/index.js';
