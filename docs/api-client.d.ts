// The public API; npm run generate:api writes it, and a test compares it with what is built.

export declare function createLockClient(options?: LockClientOptions, parts?: LockClientParts): Promise<LockClient>;

export declare class LockClient extends LockService implements AsyncDisposable {
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}

export interface LockClientOptions extends Omit<RedisLockModuleOptions, 'keyBuilder' | 'defaults' | 'drainTimeout'> {
    defaults?: Omit<LockDefaults, 'onContended' | 'onUnavailable'> | undefined;
}

export interface LockClientParts {
    logger?: LockLogger | undefined;
    clock?: Clock | undefined;
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

export { parseDuration, currentLock, findCurrentLock, lockKey, AcquireOptions, RunOptions, LockHandle, isLatchLostError, isLockConfigError, isLockError, isLockKeyError, isLockLostError, isLockNotHeldError, isLockStoreError, isLockTimeoutError, LatchLostError, LockConfigError, LockError, LockKeyError, LockLostError, LockNotHeldError, LockStoreError, LockTimeoutError } from 'nestjs-redis-locks';
