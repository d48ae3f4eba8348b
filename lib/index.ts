// In reading order: set it up, lock a method, lock a handler, lock by hand, handle what can go wrong.
export { RedisLockModule } from './redis-lock.module.js';
export type {
  LockDefaults,
  LockStoreChoice,
  LockStoreFactory,
  LockStoreParts,
  RedisLockModuleOptions,
  RedisLockRootOptions,
} from './redis-lock.options.js';
export type { RedisLockModuleAsyncOptions, RedisLockOptionsFactory } from './redis-lock.async-options.js';
export type { LockConnectionOption, RedisClusterOption, RedisConnectionOption } from './redis-lock.connection.js';
export type { Duration } from './common/duration.js';

export { DistributedLock } from './decorators/distributed-lock.decorator.js';
export type { DistributedLockOptions, LockKey, LockMethodOptions } from './decorators/lock-method.options.js';
export type {
  Lockable,
  LockMethodDecorator,
  SkippingLockMethodDecorator,
  Subscribable,
} from './decorators/lock-method.types.js';
export { currentLock } from './decorators/current-lock.js';
export { lockKey, type KeyPart } from './keys/index.js';

export { UseLock, type UseLockArgs, type UseLockOptions } from './interceptors/use-lock.decorator.js';
export type { LockRequest } from './interceptors/lock-request.js';
export { DistributedLockInterceptor } from './interceptors/distributed-lock.interceptor.js';
export { LockExceptionFilter, type LockExceptionFilterOptions } from './interceptors/lock-exception.filter.js';

export { LockService } from './lock.service.js';
export { InjectLockService } from './decorators/inject-lock-service.decorator.js';
export { getLockServiceToken } from './redis-lock.tokens.js';
export type {
  AcquireOptions,
  LockLostListener,
  LockType,
  OnContended,
  OnLost,
  ReplicaOptions,
  RunOptions,
} from './locks/acquire-options.js';
export type { LockHandle } from './locks/lock-handle.js';
export type { Lock, LockCallOptions, LockObjectOptions, ReadWriteLock } from './locks/lock.js';
export type { Semaphore, SemaphoreCallOptions, SemaphoreOptions, SemaphoreRunOptions } from './locks/semaphore.js';
export type { CountDownLatch, LatchCountOptions, LatchOptions, LatchWaitOptions } from './locks/count-down-latch.js';
export type {
  DeposedListener,
  ElectedListener,
  LeaderElection,
  LeaderElectionOptions,
} from './locks/leader-election.js';
export type { LockHealth, LockHealthOptions } from './locks/lock-health.js';
export type { LockHolderInfo, LockInfo, LockWaiterInfo } from './locks/lock-info.js';
export type {
  LockAcquiredEvent,
  LockContendedEvent,
  LockEvent,
  LockLostEvent,
  LockReleasedEvent,
  LockRenewedEvent,
  LockTimeoutEvent,
  LockUnreleasedEvent,
} from './engine/lock-event.js';

export { LOCK_CHANNELS, type AcquiredLock, type LockAcquisition, type LockDiagnostics } from './diagnostics/index.js';

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
} from './errors/index.js';

// For those who write a store of their own (`store` of the module's options).
export type {
  AcquireReply,
  AcquireRequest,
  ContendedReply,
  ForceReleaseReply,
  HeldReply,
  LockMode,
  LockStore,
  LockStoreListener,
  PushedGrant,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
  ReplicateRequest,
  StoredHold,
  StoredLock,
  TooManyReply,
} from './store/lock-store.js';
export type { CountDownReply, LatchCount, LatchStore, SetCountRequest } from './store/latch-store.js';
export type { ListReply, ListRequest } from './store/key-list.js';
export type { Clock } from './common/clock.js';
export type { LockLogger } from './common/logger.js';
