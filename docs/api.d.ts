// The public API; npm run generate:api writes it, and a test compares it with what is built.

export declare class RedisLockModule {
    static forRoot(options?: RedisLockRootOptions): DynamicModule;
    static forRootAsync(options: RedisLockModuleAsyncOptions): DynamicModule;
}

export interface LockDefaults extends Pick<RunOptions, OptionIn<'defaults'> & keyof RunOptions> {
    onContended?: OnContended;
    onUnavailable?: OnUnavailable;
    onLost?: OnLost;
    release?: ReleaseMode;
}

export interface RedisLockModuleOptions {
    instance?: string;
    connection?: LockConnectionOption;
    store?: LockStoreChoice;
    protocol?: LockProtocol;
    keyPrefix?: string;
    label?: string;
    keyBuilder?: KeyBuilder;
    renewedLease?: Duration;
    defaults?: LockDefaults;
    commandTimeout?: Duration;
    shutdownTimeout?: Duration;
    grantTimeout?: Duration;
    localHandoffs?: number;
    localHandoffTime?: Duration;
}

export interface RedisLockRootOptions extends RedisLockModuleOptions {
    isGlobal?: boolean;
}

export interface LockProtocol {
    readonly name: string;
    readonly createStore: (parts: ProtocolParts) => LockStore;
}

export type LockStoreChoice = 'redis' | 'memory' | LockStoreFactory;

export interface RedisLockModuleAsyncOptions {
    instance?: string;
    isGlobal?: boolean;
    inject?: Array<InjectionToken | {
        token: InjectionToken;
        optional: boolean;
    }>;
    useFactory?: (...args: any[]) => Promise<RedisLockModuleOptions> | RedisLockModuleOptions;
    useClass?: Type<RedisLockOptionsFactory>;
    useExisting?: InjectionToken<RedisLockOptionsFactory>;
    imports?: NonNullable<ModuleMetadata['imports']>;
    extraProviders?: Provider[];
}

export interface RedisLockOptionsFactory {
    createRedisLockOptions(): Promise<RedisLockModuleOptions> | RedisLockModuleOptions;
}

export type LockConnectionOption = RedisConnectionOption | RedisClusterOption | readonly RedisConnectionOption[];

export type RedisClusterOption = {
    cluster: readonly ClusterNode[];
    options?: ClusterOptions;
} | Cluster;

export type RedisConnectionOption = string | RedisOptions | Redis | NodeRedisClient;

export interface NodeRedisClient {
    readonly isOpen: boolean;
    readonly isReady: boolean;
    readonly options?: object | undefined;
    duplicate(...overrides: any[]): unknown;
    sendCommand(args: any, ...more: any[]): Promise<unknown>;
    subscribe(...args: any[]): Promise<unknown>;
    destroy(): void;
}

export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

export declare const parseDuration: (text: string) => number;

export declare function DistributedLock<Args extends any[] = any[], Contended extends OnContended = OnContended, Unavailable extends OnUnavailable = OnUnavailable>(options: DistributedLockOptions<Args, Contended, Unavailable>): LockMethodDecorator<Args, Contended, Unavailable>;

export declare function DistributedLock<Args extends any[] = any[]>(key: LockKey<Args>, expire?: Duration, maxRenewTimes?: number): LockMethodDecorator<Args>;

export interface DistributedLockOptions<Args extends readonly any[] = any[], Contended extends OnContended = OnContended, Unavailable extends OnUnavailable = OnUnavailable> extends LockMethodOptions<Args, Contended, Unavailable> {
    returns?: 'promise' | 'observable';
}

export type LockKey<Args extends readonly any[] = any[]> = string | readonly string[] | MethodKey | ((...args: Args) => string | readonly string[]);

export interface LockMethodOptions<Args extends readonly any[] = any[], Contended extends OnContended = OnContended, Unavailable extends OnUnavailable = OnUnavailable> extends Pick<RunOptions, OptionIn<'decorator'> & keyof RunOptions> {
    key: LockKey<Args>;
    onContended?: Contended;
    onUnavailable?: Unavailable;
    condition?: (...args: Args) => boolean;
    instance?: string;
}

export type Lockable = PromiseLike<any> | Subscribable;

export type LockMethodDecorator<Args extends readonly any[], Contended extends OnContended = OnContended, Unavailable extends OnUnavailable = OnUnavailable> = <Params extends any[], Result>(target: object, name: string | symbol, descriptor?: DescriptorOf<Params, Result> & IsLockable<Result> & SuitsFunctions<Args, Params> & Admits<'onContended', Known<Contended, OnContended>, Params, Result> & Admits<'onUnavailable', Known<Unavailable, OnUnavailable>, Params, Result>) => void;

export interface Subscribable {
    subscribe(...args: any[]): unknown;
    pipe(...args: any[]): unknown;
}

export declare const currentLock: (key?: string) => LockHandle | undefined;

export declare function methodKey(prefix: string): MethodKey;

export interface MethodKey {
    readonly [PREFIX]: string;
}

export type KeyBuilder = (key: string, call: LockedMethodCall) => string;

export interface LockedMethodCall {
    readonly className: string;
    readonly methodName: string;
    readonly args: readonly unknown[];
}

export declare function lockKey(text: TemplateStringsArray, ...values: KeyPart[]): string;

export type KeyPart = string | number | bigint | boolean;

export declare function UseLock(options: UseLockOptions): MethodDecorator;

export declare function UseLock(key: LockKey<UseLockArgs>, expire?: Duration, maxRenewTimes?: number): MethodDecorator;

export type UseLockArgs = [
    request: LockRequest,
    context: ExecutionContext
];

export type UseLockOptions = LockMethodOptions<UseLockArgs>;

export interface LockRequest {
    readonly params: any;
    readonly query: any;
    readonly body: any;
    readonly headers: any;
    readonly user: any;
    readonly data: any;
}

export declare class DistributedLockInterceptor implements NestInterceptor {
    constructor(services: LockServices);
    intercept(context: ExecutionContext & {
        [ENTERED]?: boolean;
    }, next: CallHandler): Observable<unknown>;
}

export declare class LockExceptionFilter implements ExceptionFilter<LockTimeoutError | LockStoreError | LockKeyError> {
    constructor(adapterHost: HttpAdapterHost, options?: LockExceptionFilterOptions);
    catch(error: LockTimeoutError | LockStoreError | LockKeyError, host: ArgumentsHost): unknown;
}

export interface LockExceptionFilterOptions {
    timeoutStatus?: number;
    retryAfter?: number;
}

export declare class LockService {
    readonly events: Observable<LockEvent>;
    readonly instance: string;
    readonly defaults: LockServiceDefaults;
    readonly clientId: string;
    readonly label: string;
    constructor(engine: LockEngine, context: EngineContext, events: Observable<LockEvent>, options: LockServiceOptions);
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
    expire?: Duration;
    renewedLease?: Duration;
    maxRenewTimes?: number;
    waitTimeout?: Duration;
    signal?: AbortSignal;
    owner?: string;
    reentrant?: boolean;
    holdAtLeast?: Duration;
    kind?: LockKind;
    permits?: number;
    units?: number;
    fair?: boolean;
    replicas?: ReplicaOptions;
    onLost?: LockLostListener;
    pattern?: string;
}

export interface AdoptOptions extends Pick<AcquireOptions, 'expire' | 'renewedLease' | 'maxRenewTimes' | 'pattern'> {
    onLost?: LockLostListener;
}

export type LockLostListener = (error: LockLostError, handle: LockHandle) => unknown;

export type LockKind = 'exclusive' | 'read' | 'write';

export type OnContended = 'throw' | 'skip' | ((error: LockTimeoutError, ...args: any[]) => any);

export type OnLost = 'throw' | 'ignore' | LockLostListener;

export type OnUnavailable = 'throw' | 'skip' | ((error: LockStoreError, ...args: any[]) => any);

export type ReleaseMode = 'awaited' | 'background';

export interface ReplicaOptions {
    min: number;
    timeout?: Duration;
}

export interface RunOptions extends Omit<AcquireOptions, 'onLost'> {
    onLost?: OnLost;
    release?: ReleaseMode;
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

export type LockCallOptions = Pick<AcquireOptions, OptionIn<'lock'>>;

export interface LockObjectOptions {
    owner?: string;
    pattern?: string;
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

export type SemaphoreCallOptions = Pick<AcquireOptions, OptionIn<'semaphore'>>;

export type SemaphoreDrainOptions = Omit<SemaphoreCallOptions, 'waitTimeout' | 'signal'>;

export interface SemaphoreOptions {
    permits: number;
    pattern?: string;
}

export interface SemaphoreRunOptions extends Omit<SemaphoreCallOptions, 'onLost'>, Pick<RunOptions, 'onLost'> {
    units?: number;
}

export interface CountDownLatch {
    readonly key: string;
    trySetCount(count: number, options?: LatchOptions): Promise<boolean>;
    countDown(options?: LatchCountOptions): Promise<number>;
    getCount(): Promise<number>;
    delete(): Promise<boolean>;
    await(wait?: Duration | LatchWaitOptions): Promise<boolean>;
}

export interface LatchCountOptions {
    replicas?: ReplicaOptions;
}

export interface LatchOptions extends LatchCountOptions {
    expire?: Duration;
}

export interface LatchWaitOptions {
    waitTimeout?: Duration;
    signal?: AbortSignal;
}

export type DeposedListener = (error: LockLostError | undefined) => unknown;

export type ElectedListener = (handle: LockHandle, signal: AbortSignal) => unknown;

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

export interface LeaderElectionOptions extends Pick<AcquireOptions, OptionIn<'election'> & keyof AcquireOptions> {
    onElected?: ElectedListener;
    onDeposed?: DeposedListener;
    finishTimeout?: Duration;
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

export interface LockHealthOptions {
    timeout?: Duration;
}

export interface ForceReleaseOptions {
    hold?: string | readonly string[];
}

export interface LockListOptions {
    match?: string;
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
    readonly fencingToken: number;
    readonly ttl: number;
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
    readonly since: Date;
}

export interface LockAcquiredEvent extends EventOfKey {
    readonly type: 'acquired';
    readonly fencingToken: number;
    readonly waited: number;
    readonly contended: boolean;
    readonly previousHolder: string | undefined;
}

export interface LockContendedEvent extends EventOfKey {
    readonly type: 'contended';
    readonly holder: string | undefined;
    readonly holderId: string | undefined;
}

export type LockEvent = LockAcquiredEvent | LockContendedEvent | LockTimeoutEvent | LockSkippedEvent | LockRenewedEvent | LockReleasedEvent | LockUnreleasedEvent | LockLostEvent;

export interface LockLostEvent extends EventOfKey {
    readonly type: 'lost';
    readonly fencingToken: number;
    readonly held: number;
    readonly reason: string;
    readonly lossReason: LossReason;
}

export interface LockReleasedEvent extends EventOfKey {
    readonly type: 'released';
    readonly fencingToken: number;
    readonly held: number;
}

export interface LockRenewedEvent extends EventOfKey {
    readonly type: 'renewed';
    readonly fencingToken: number;
    readonly renewals: number;
    readonly late: number;
}

export interface LockSkippedEvent extends EventOfKey {
    readonly type: 'skipped';
    readonly holder: string | undefined;
    readonly holderId: string | undefined;
    readonly waited: number;
}

export interface LockTimeoutEvent extends EventOfKey {
    readonly type: 'timeout';
    readonly holder: string | undefined;
    readonly holderId: string | undefined;
    readonly waited: number;
}

export interface LockUnreleasedEvent extends EventOfKey {
    readonly type: 'unreleased';
    readonly fencingToken: number;
    readonly held: number;
    readonly reason: string;
}

export declare const LOCK_CHANNELS: Readonly<{
    contended: string;
    acquired: string;
    timeout: string;
    skipped: string;
    renewed: string;
    released: string;
    unreleased: string;
    lost: string;
    acquire: string;
}>;

export interface AcquiredLock {
    readonly isHeld: boolean;
    readonly fencingTokens: ReadonlyMap<string, number>;
    readonly holders: ReadonlyMap<string, string>;
}

export interface LockAcquisition {
    readonly instance: string;
    readonly keys: readonly string[];
    readonly pattern: string | undefined;
    readonly method: string | undefined;
    readonly kind: 'exclusive' | 'read' | 'permits';
    readonly owner: string | undefined;
    readonly waitTimeout: number;
    readonly optional: boolean;
    result?: AcquiredLock;
    error?: unknown;
}

export type LockDiagnostics<Event extends LockEvent = LockEvent> = Event & {
    readonly instance: string;
};

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
    result?: unknown;
    constructor(message: string, details?: LockLostErrorDetails);
}

export declare class LockNotHeldError extends LockError {
    readonly code = "LOCK_NOT_HELD";
    constructor(message: string, details?: LockErrorDetails);
}

export declare class LockStoreError extends LockError {
    readonly code = "LOCK_STORE";
    readonly transient: boolean;
    constructor(message: string, { transient, ...details }?: LockStoreErrorDetails);
}

export declare class LockTimeoutError extends LockError {
    readonly code = "LOCK_TIMEOUT";
    readonly holder: LockHolder | undefined;
    constructor(message: string, { holder, ...details }?: LockTimeoutErrorDetails);
}

export type LockErrorCode = 'LOCK_TIMEOUT' | 'LOCK_LOST' | 'LOCK_NOT_HELD' | 'LOCK_LATCH_LOST' | 'LOCK_STORE' | 'LOCK_KEY' | 'LOCK_CONFIG';

export interface LockErrorDetails {
    key?: string;
    method?: string;
    cause?: unknown;
}

export type LossReason = keyof typeof LOSS_REASONS;
