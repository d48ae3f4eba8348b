// In reading order: set it up, lock a method, lock a handler, lock by hand, handle what can go wrong.
export { RedisLockModule } from './module/redis-lock.module.js';
export type { RedisLockModuleOptions } from './module/redis-lock.options.js';
export type { RedisLockModuleAsyncOptions, RedisLockOptionsFactory } from './module/redis-lock.async-options.js';
export type { LockConnectionOption } from './module/redis-lock.connection.js';
export type { LockCredentials } from './store/redis/lock-credentials.js';
export type { Duration } from './common/duration.js';
export { parseDuration } from './options/option-readers.js';

export { DistributedLock } from './decorators/distributed-lock.decorator.js';
export type { DistributedLockOptions } from './decorators/lock-method.options.js';
export type { LockMethodDecorator } from './decorators/lock-method.types.js';
export { currentLock, findCurrentLock } from './decorators/current-lock.js';
export { methodKey, type MethodKey } from './decorators/method-key.js';
export type { KeyBuilder } from './options/acquire-options.js';
export { lockKey } from './keys/index.js';

export { UseLock, type UseLockOptions } from './interceptors/use-lock.decorator.js';
export type { RequestParts } from './interceptors/request-parts.js';
export { DistributedLockInterceptor } from './interceptors/distributed-lock.interceptor.js';
export { LockExceptionFilter, type LockExceptionFilterOptions } from './interceptors/lock-exception.filter.js';

export { LockService } from './service/lock.service.js';
export { InjectLockService } from './decorators/inject-lock-service.decorator.js';
export { getLockServiceToken } from './module/redis-lock.tokens.js';
export type { AcquireOptions, LockKind, RunOptions } from './options/acquire-options.js';
export type { LockHandle } from './service/handles/lock-handle.js';
export type { LockObject, LockObjectOptions, ReadWriteLock } from './service/objects/lock.js';
export type { Semaphore, SemaphoreOptions } from './service/objects/semaphore.js';
export type { CountDownLatch } from './service/objects/count-down-latch.js';
export type { LeaderElection, LeaderElectionOptions } from './service/objects/leader-election.js';
export type { LockHealth } from './service/lock-health.js';
export type { LockHolder, LockState, LockWaiter } from './service/lock-state.js';
export type { LockEvent } from './engine/lock-event.js';

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
  type LockErrorDetails,
} from './errors/index.js';
