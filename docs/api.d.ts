// The public API; npm run generate:api writes it, and a test compares it with what is built.

export declare class RedisLockModule {
    static forRoot(options?: RedisLockRootOptions): DynamicModule;
    static forRootAsync(options: RedisLockModuleAsyncOptions): DynamicModule;
}

export interface RedisLockModuleOptions {
    instance?: string | undefined;
    connection?: LockConnectionOption | undefined;
    store?: LockStoreChoice | undefined;
    protocol?: LockProtocol | undefined;
    keyPrefix?: string | undefined;
    label?: string | undefined;
    keyBuilder?: KeyBuilder | undefined;
    renewedLease?: Duration | undefined;
    defaults?: LockDefaults | undefined;
    commandTimeout?: Duration | undefined;
    shutdownTimeout?: Duration | undefined;
    drainTimeout?: Duration | undefined;
    grantTimeout?: Duration | undefined;
    localHandoffs?: number | undefined;
    localHandoffTime?: Duration | undefined;
}

export interface RedisLockModuleAsyncOptions {
    instance?: string | undefined;
    isGlobal?: boolean | undefined;
    inject?: Array<InjectionToken | {
        token: InjectionToken;
        optional: boolean;
    }> | undefined;
    useFactory?: ((...args: any[]) => Promise<RedisLockModuleOptions> | RedisLockModuleOptions) | undefined;
    useClass?: Type<RedisLockOptionsFactory> | undefined;
    useExisting?: InjectionToken<RedisLockOptionsFactory> | undefined;
    imports?: NonNullable<ModuleMetadata['imports']> | undefined;
    extraProviders?: Provider[] | undefined;
}

export interface RedisLockOptionsFactory {
    createRedisLockOptions(): Promise<RedisLockModuleOptions> | RedisLockModuleOptions;
}

export type LockConnectionOption = RedisConnectionOption | RedisClusterOption | readonly RedisConnectionOption[];

export interface LockCredentials {
    readonly username?: string;
    readonly password: string;
    readonly expiresAt?: Date | number;
}

export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

export declare const parseDuration: (text: string) => number;

export declare function DistributedLock<Args extends any[] = any[], Contended extends OnContended = OnContended, Unavailable extends OnUnavailable = OnUnavailable>(options: DistributedLockOptions<Args, Contended, Unavailable>): LockMethodDecorator<Args, Contended, Unavailable>;

export declare function DistributedLock<Args extends any[] = any[]>(key: LockKey<Args>, expire?: Duration, maxRenewTimes?: number): LockMethodDecorator<Args>;

export interface DistributedLockOptions<Args extends readonly any[] = any[], Contended extends OnContended = OnContended, Unavailable extends OnUnavailable = OnUnavailable> extends LockMethodOptions<Args, Contended, Unavailable> {
    returns?: 'promise' | 'observable' | undefined;
}

export type LockMethodDecorator<Args extends readonly any[], Contended extends OnContended = OnContended, Unavailable extends OnUnavailable = OnUnavailable> = <Params extends any[], Result>(target: object, name: string | symbol, descriptor?: DescriptorOf<Params, Result> & IsLockable<Result> & SuitsFunctions<Args, Params> & Admits<'onContended', Known<Contended, OnContended>, Params, Result> & Admits<'onUnavailable', Known<Unavailable, OnUnavailable>, Params, Result>) => void;

export declare function currentLock(key?: string): LockHandle;

export declare const findCurrentLock: (key?: string) => LockHandle | undefined;

export declare function methodKey(prefix: string): MethodKey;

export interface MethodKey {
    readonly [PREFIX]: string;
}

export type KeyBuilder = (key: string, call: LockedMethodCall) => string;

export declare function lockKey(text: TemplateStringsArray, ...values: KeyPart[]): string;

export declare function UseLock(options: UseLockOptions): MethodDecorator;

export declare function UseLock(key: LockKey<UseLockArgs>, expire?: Duration, maxRenewTimes?: number): MethodDecorator;

export type UseLockOptions = LockMethodOptions<UseLockArgs>;

export interface RequestParts {
    readonly params: any;
    readonly query: any;
    readonly body: any;
    readonly headers: any;
    readonly user: any;
    readonly data: any;
}

export declare class DistributedLockInterceptor implements NestInterceptor {
    constructor(parts: 'Nest passes them');
    intercept(context: ExecutionContext & {
        [ENTERED]?: boolean;
    }, next: CallHandler): Observable<unknown>;
}

export declare class LockExceptionFilter implements ExceptionFilter<LockTimeoutError | LockStoreError | LockKeyError> {
    constructor(adapterHost: HttpAdapterHost, options?: LockExceptionFilterOptions);
    catch(error: LockTimeoutError | LockStoreError | LockKeyError, host: ArgumentsHost): unknown;
}

export interface LockExceptionFilterOptions {
    timeoutStatus?: number | undefined;
    retryAfter?: number | undefined;
}

export declare class LockService {
    readonly events: Observable<LockEvent>;
    readonly instance: string;
    readonly clientId: string;
    readonly label: string;
    constructor(parts: 'Nest passes them');
    acquire(key: string | readonly string[], options?: AcquireOptions): Promise<LockHandle>;
    tryAcquire(key: string | readonly string[], options?: AcquireOptions): Promise<LockHandle | null>;
    run<T>(key: string | readonly string[], task: (lock: LockHandle) => T | Promise<T>, options?: RunOptions): Promise<T>;
    adopt(text: string, options?: AdoptOptions): Promise<LockHandle>;
    getLock(key: string, options?: LockObjectOptions): LockObject;
    getFairLock(key: string, options?: LockObjectOptions): LockObject;
    getReadWriteLock(key: string, options?: LockObjectOptions): ReadWriteLock;
    getMultiLock(keys: readonly string[], options?: LockObjectOptions): LockObject;
    getSemaphore(key: string, options: SemaphoreOptions): Semaphore;
    getCountDownLatch(key: string): CountDownLatch;
    getLeaderElection(key: string, options?: LeaderElectionOptions): LeaderElection;
    inspect(key: string): Promise<LockState | null>;
    list(options?: LockListOptions): AsyncIterableIterator<LockState>;
    forceRelease(key: string, options?: ForceReleaseOptions): Promise<boolean>;
    health(options?: LockHealthOptions): Promise<LockHealth>;
}

export declare function InjectLockService(name?: string): PropertyDecorator & ParameterDecorator;

export declare function getLockServiceToken(name?: string): symbol;

export interface AcquireOptions {
    expire?: Duration | undefined;
    renewedLease?: Duration | undefined;
    maxRenewTimes?: number | undefined;
    waitTimeout?: Duration | undefined;
    signal?: AbortSignal | undefined;
    owner?: string | undefined;
    reentrant?: boolean | undefined;
    holdAtLeast?: Duration | undefined;
    kind?: LockKind | undefined;
    permits?: number | undefined;
    units?: number | undefined;
    fair?: boolean | undefined;
    replicas?: ReplicaOptions | undefined;
    onLost?: LockLostListener | undefined;
    pattern?: string | undefined;
}

export type LockKind = 'exclusive' | 'read' | 'write';

export interface RunOptions extends Omit<AcquireOptions, 'onLost'> {
    onLost?: OnLost | undefined;
    release?: ReleaseMode | undefined;
}

export interface LockHandle extends AsyncDisposable {
    readonly key: string;
    readonly keys: readonly string[];
    readonly owner: string;
    readonly kind: 'exclusive' | 'read' | 'permits';
    readonly units: number;
    readonly fencingToken: number;
    readonly fencingTokens: ReadonlyMap<string, number>;
    readonly signal: AbortSignal;
    readonly isHeld: boolean;
    readonly holdCount: number;
    remainingTime(): number;
    assertHeld(): void;
    verify(): Promise<void>;
    extend(lease: Duration): Promise<void>;
    handOver(within?: Duration): Promise<string>;
    releaseUnits(units: number): Promise<void>;
    release(): Promise<boolean>;
}

export interface LockObject {
    readonly key: string;
    lock(options?: LockCallOptions): Promise<LockHandle>;
    tryLock(waitTimeout?: Duration | LockCallOptions, expire?: Duration): Promise<LockHandle | null>;
    unlock(): Promise<void>;
    forceUnlock(): Promise<boolean>;
    isLocked(): Promise<boolean>;
    isHeldByCurrentContext(): boolean;
    isHeldBy(owner: string): Promise<boolean>;
    getHoldCount(): number;
    remainTimeToLive(): Promise<number>;
}

export interface LockObjectOptions {
    owner?: string | undefined;
    pattern?: string | undefined;
}

export interface ReadWriteLock {
    readLock(): LockObject;
    writeLock(): LockObject;
}

export interface Semaphore {
    readonly key: string;
    acquire(units?: number, options?: SemaphoreCallOptions): Promise<LockHandle>;
    tryAcquire(units?: number, waitTimeout?: Duration | SemaphoreCallOptions, expire?: Duration): Promise<LockHandle | null>;
    drainPermits(options?: SemaphoreDrainOptions): Promise<LockHandle | null>;
    run<T>(task: (handle: LockHandle) => T | Promise<T>, options?: SemaphoreRunOptions): Promise<T>;
    release(handle: LockHandle, units?: number): Promise<void>;
    availablePermits(): Promise<number>;
    getPermits(): Promise<number>;
    setPermits(permits: number): Promise<void>;
    addPermits(permits: number): Promise<number>;
}

export interface SemaphoreOptions {
    permits: number;
    pattern?: string | undefined;
}

export interface CountDownLatch {
    readonly key: string;
    trySetCount(count: number, options?: LatchOptions): Promise<boolean>;
    countDown(options?: LatchCountOptions): Promise<number>;
    getCount(): Promise<number>;
    delete(): Promise<boolean>;
    await(wait?: Duration | LatchWaitOptions): Promise<boolean>;
}

export interface LeaderElection extends AsyncDisposable {
    readonly key: string;
    readonly isLeader: boolean;
    readonly handle: LockHandle | undefined;
    readonly signal: AbortSignal | undefined;
    readonly fencingToken: number | undefined;
    start(): this;
    stop(): Promise<void>;
    resign(): Promise<boolean>;
    onElected(listener: ElectedListener): () => void;
    onDeposed(listener: DeposedListener): () => void;
}

export interface LeaderElectionOptions extends Pick<AcquireOptions, 'renewedLease' | 'replicas' | 'pattern'> {
    onElected?: ElectedListener | undefined;
    onDeposed?: DeposedListener | undefined;
    finishTimeout?: Duration | undefined;
}

export interface LockHealth {
    readonly client: string;
    readonly label: string;
    readonly reachable: boolean;
    readonly error: string | undefined;
    readonly roundTrip: number | undefined;
    readonly subscribed: boolean;
    readonly watchdogLag: number;
    readonly held: number;
}

export interface LockHolder {
    readonly id: string;
    readonly owner: string;
    readonly kind: 'exclusive' | 'read' | 'permits';
    readonly units: number;
    readonly client: string;
    readonly label: string | undefined;
    readonly pattern: string | undefined;
    readonly method: string | undefined;
    readonly connected: boolean | undefined;
    readonly fencingToken: number;
    readonly ttl: number;
    readonly renewedLease: number | undefined;
    readonly kept: boolean;
    readonly since: Date;
}

export interface LockState {
    readonly key: string;
    readonly holders: readonly LockHolder[];
    readonly owner: string | undefined;
    readonly holds: number;
    readonly ttl: number;
    readonly fencingToken: number;
    readonly waiters: readonly LockWaiter[];
    readonly waitingHere: number;
    readonly permits: number | undefined;
}

export interface LockWaiter {
    readonly id: string;
    readonly owner: string;
    readonly kind: 'exclusive' | 'read' | 'permits';
    readonly units: number;
    readonly client: string;
    readonly label: string | undefined;
    readonly pattern: string | undefined;
    readonly method: string | undefined;
    readonly connected: boolean | undefined;
    readonly since: Date;
}

export type LockEvent = LockAcquiredEvent | LockContendedEvent | LockTimeoutEvent | LockSkippedEvent | LockRenewedEvent | LockReleasedEvent | LockUnreleasedEvent | LockLostEvent;

export declare const isLatchLostError: (error: unknown) => error is LatchLostError;

export declare const isLockConfigError: (error: unknown) => error is LockConfigError;

export declare const isLockError: (error: unknown) => error is LockError;

export declare const isLockKeyError: (error: unknown) => error is LockKeyError;

export declare const isLockLostError: (error: unknown) => error is LockLostError;

export declare const isLockNotHeldError: (error: unknown) => error is LockNotHeldError;

export declare const isLockStoreError: (error: unknown) => error is LockStoreError;

export declare const isLockTimeoutError: (error: unknown) => error is LockTimeoutError;

export declare class LatchLostError extends LockError {
    readonly code = "LOCK_LATCH_LOST";
    constructor(message: string, details?: LockErrorDetails);
}

export declare class LockConfigError extends LockError {
    readonly code = "LOCK_CONFIG";
    constructor(message: string, details?: LockErrorDetails);
}

export declare abstract class LockError extends Error {
    abstract readonly code: LockErrorCode;
    readonly key: string | undefined;
    readonly method: string | undefined;
    protected constructor(message: string, { key, method, cause }?: LockErrorDetails);
}

export declare class LockKeyError extends LockError {
    readonly code = "LOCK_KEY";
    fromRequest: boolean;
    constructor(message: string, details?: LockErrorDetails);
}

export declare class LockLostError extends LockError {
    readonly code = "LOCK_LOST";
    readonly lossReason: LossReason | undefined;
    readonly forcedBy: string | undefined;
    result?: unknown;
    constructor(message: string, details?: LockErrorDetails & Partial<Pick<LockLostError, 'lossReason' | 'forcedBy'>>);
}

export declare class LockNotHeldError extends LockError {
    readonly code = "LOCK_NOT_HELD";
    constructor(message: string, details?: LockErrorDetails);
}

export declare class LockStoreError extends LockError {
    readonly code = "LOCK_STORE";
    readonly transient: boolean;
    constructor(message: string, { transient, ...details }?: LockErrorDetails & {
        transient?: boolean;
    });
}

export declare class LockTimeoutError extends LockError {
    readonly code = "LOCK_TIMEOUT";
    readonly holder: LockHolder | undefined;
    constructor(message: string, { holder, ...details }?: LockErrorDetails & {
        holder?: LockHolder | undefined;
    });
}

export interface LockErrorDetails {
    key?: string;
    method?: string;
    cause?: unknown;
}
