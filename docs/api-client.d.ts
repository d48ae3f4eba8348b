// The public API; npm run generate:api writes it, and a test compares it with what is built.

export declare function createLockClient(options?: LockClientOptions, { logger, clock }?: LockClientParts): Promise<LockClient>;

export declare class LockClient extends LockService implements AsyncDisposable {
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}

export interface LockClientOptions extends Omit<RedisLockModuleOptions, 'keyBuilder' | 'defaults'> {
    defaults?: Omit<LockDefaults, 'onContended' | 'onUnavailable'>;
}

export interface LockClientParts {
    logger?: LockLogger;
    clock?: Clock;
}

export interface LockLogger {
    debug(message: string): void;
    log(message: string): void;
    warn(message: string): void;
    error(message: string): void;
}

export interface Clock {
    now(): number;
    setTimer(delay: number, callback: () => void): unknown;
    clearTimer(timer: unknown): void;
    keepAlive(): () => void;
}

export { LockDefaults, RedisLockModuleOptions, LockProtocol, LockStoreChoice, LockConnectionOption, RedisClusterOption, RedisConnectionOption, Duration, parseDuration, currentLock, KeyBuilder, LockedMethodCall, lockKey, KeyPart, LockService, AcquireOptions, LockLostListener, LockKind, OnContended, OnLost, OnUnavailable, ReplicaOptions, RunOptions, LockHandle, LockObject, LockCallOptions, LockObjectOptions, ReadWriteLock, Semaphore, SemaphoreCallOptions, SemaphoreDrainOptions, SemaphoreOptions, SemaphoreRunOptions, CountDownLatch, LatchCountOptions, LatchOptions, LatchWaitOptions, DeposedListener, ElectedListener, LeaderElection, LeaderElectionOptions, LockHealth, LockHealthOptions, LockHolder, LockState, LockWaiter, LockAcquiredEvent, LockContendedEvent, LockEvent, LockLostEvent, LockReleasedEvent, LockRenewedEvent, LockSkippedEvent, LockTimeoutEvent, LockUnreleasedEvent, LOCK_CHANNELS, AcquiredLock, LockAcquisition, LockDiagnostics, isLatchLostError, isLockConfigError, isLockError, isLockKeyError, isLockLostError, isLockNotHeldError, isLockStoreError, isLockTimeoutError, LatchLostError, LockConfigError, LockError, LockKeyError, LockLostError, LockNotHeldError, LockStoreError, LockTimeoutError, LockErrorCode, LockErrorDetails } from 'nestjs-redis-locks';
