// The public API; npm run generate:api writes it, and a test compares it with what is built.

export declare function getLockTestingToken(name?: string): InjectionToken<LockTesting>;

export declare class RedisLockTestingModule {
    static forRoot(given?: LockTestingOptions & Pick<RedisLockRootOptions, 'isGlobal'>): DynamicModule;
}

export declare class LockTesting implements AsyncDisposable {
    readonly acquisitions: Acquisitions;
    readonly service: LockService;
    constructor(options?: LockTestingOptions);
    get clock(): ManualClock;
    hold(key: string, options?: AcquireOptions): Promise<LockHandle>;
    lose(key: string): Promise<boolean>;
    withLocks<T extends object>(instance: T, service?: LockService): T;
    override<Builder extends OverridesProviders>(builder: Builder): Builder;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}

export interface LockTestingOptions extends Omit<RedisLockModuleOptions, 'store'> {
    clock?: 'system' | 'manual' | undefined;
    shutdownTimeout?: Duration | undefined;
}

export declare class Acquisitions implements Iterable<RecordedAcquisition> {
    get all(): readonly RecordedAcquisition[];
    of(key: string): readonly RecordedAcquisition[];
    count(key: string, outcome?: AcquisitionOutcome): number;
    clear(): void;
    [Symbol.iterator](): Iterator<RecordedAcquisition>;
}

export interface RecordedAcquisition {
    readonly key: string;
    readonly kind: HoldMode['kind'];
    readonly owner: string | undefined;
    readonly outcome: AcquisitionOutcome;
}

export declare class ManualClock implements Clock {
    now(): number;
    setTimer(delay: number, callback: () => void): unknown;
    clearTimer(timer: unknown): void;
    keepAlive(): () => void;
    advance(duration: Duration): Promise<void>;
}

export declare function lockStoreContract(harness: LockStoreHarness): ContractCase[];

export interface ContractCase {
    readonly name: string;
    run(): Promise<void>;
}

export type ContractClientOptions = Pick<RedisLockModuleOptions, 'renewedLease' | 'commandTimeout' | 'grantTimeout' | 'localHandoffs' | 'localHandoffTime' | 'shutdownTimeout' | 'defaults'>;

export interface LockStoreHarness {
    client(options: ContractClientOptions): Promise<LockService>;
    store(): Promise<LockStore>;
    truth(key: string): Promise<StoreTruth>;
    sleep(ms: number): Promise<void>;
    now(): number;
    stop(): Promise<void>;
    readonly absenceNoticedAfter?: number;
    readonly deliversOnce?: boolean;
}

export interface StoreTruth {
    readonly holds: ReadonlyArray<{
        readonly id: string;
        readonly left: number;
    }>;
    readonly waiting: readonly string[];
}
