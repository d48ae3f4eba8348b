// The public API; npm run generate:api writes it, and a test compares it with what is built.

export type LockStoreFactory = (parts: LockStoreContext) => LockStore;

export interface LockStoreContext {
    readonly clock: Clock;
    readonly logger: LockLogger;
    readonly keyPrefix: string;
    readonly commandTimeout: number;
}

export interface Clock {
    now(): number;
    setTimer(delay: number, callback: () => void): unknown;
    clearTimer(timer: unknown): void;
    keepAlive(): () => void;
}

export interface LockLogger {
    debug(message: string): void;
    log(message: string): void;
    warn(message: string): void;
    error(message: string): void;
}

export type AcquireAllReply = readonly HeldReply[] | {
    readonly outcome: 'busy';
    readonly key: string;
    readonly holders: readonly string[];
};

export type AcquireReply = HeldReply | ContendedReply | {
    readonly outcome: 'left' | 'upgrade';
    readonly time: number;
} | TooManyReply;

export interface AcquireRequest {
    readonly key: string;
    readonly id: string;
    readonly mode: HoldMode;
    readonly owner: string | undefined;
    readonly lease: number;
    readonly waits: boolean;
    readonly period: number;
    readonly patience: number;
    readonly grantTimeout: number;
    readonly batchSize: number;
    readonly slots?: number | undefined;
    readonly uncontendedBatchSize: number;
    readonly fair: boolean;
    readonly ahead?: boolean | undefined;
    readonly age?: number;
    readonly since?: number | undefined;
    readonly backedOff?: boolean;
    readonly adopts?: string | undefined;
}

export interface ContendedReply {
    readonly outcome: 'queued' | 'busy';
    readonly time: number;
    readonly retryAfter: number;
    readonly lastToken: number;
    readonly holders: readonly string[];
    readonly isSplit?: boolean | undefined;
}

export interface ForceReleaseReply {
    readonly holds: number;
    readonly told: number;
}

export interface HeldReply {
    readonly outcome: 'held';
    readonly time: number;
    readonly token: number;
    readonly lease: number;
    readonly batchSize: number;
    readonly units?: number | undefined;
}

export type HoldMode = {
    readonly kind: 'exclusive';
    readonly isWrite?: true;
} | {
    readonly kind: 'read';
} | {
    readonly kind: 'permits';
    readonly units: number;
    readonly limit: number;
};

export interface LockStore {
    readonly clientId: string;
    readonly listening: boolean;
    readonly fullySubscribed?: boolean;
    readonly epoch: number;
    readonly replyTime?: number;
    readonly unreachable: LockStoreError | undefined;
    readonly outage?: LockStoreError | undefined;
    readonly permits?: PermitStore;
    readonly latches: LatchStore | undefined;
    readonly clients?: ClientRecordStore | undefined;
    readonly mayKeepPlaces?: boolean;
    readonly isPartitioned?: boolean;
    readonly lacks?: Readonly<Partial<Record<StoreFeature, string>>>;
    start(): Promise<void>;
    close(): Promise<void>;
    listen(listener: LockStoreListener): void;
    acquire(request: AcquireRequest): Promise<AcquireReply>;
    release(request: ReleaseRequest): Promise<ReleaseReply>;
    renew(requests: readonly RenewRequest[]): Promise<RenewReply[]>;
    offer(request: OfferRequest): Promise<OfferReply>;
    acquireAll(requests: readonly AcquireRequest[]): Promise<AcquireAllReply | undefined>;
    replicate(request: ReplicateRequest): Promise<number>;
    setLimit?(key: string, permits: number): Promise<void>;
    forceRelease(key: string, hold?: HoldChoice, by?: string): Promise<ForceReleaseReply>;
    inspect(key: string, maxWaiters?: number, maxHolds?: number): Promise<StoredLock>;
    survey?(request: HoldSurveyRequest): Promise<HoldSurvey | undefined>;
    list?(request: ListRequest): Promise<ListReply>;
    time?(): Promise<number>;
}

export interface LockStoreListener {
    granted(grant: PushedGrant): void;
    retryAfter(id: string, delay: number): void;
    yield(id: string): void;
    revoked(id: string, token?: number, by?: string, next?: string): void;
    opened(key: string, latch: string): void;
    restored(concerns?: (key: string) => boolean): void;
    doubted?(concerns: (key: string) => boolean): void;
}

export type OfferReply = number | 'not-held' | 'shared';

export interface OfferRequest {
    readonly key: string;
    readonly id: string;
    readonly offer: string;
    readonly lease: number;
}

export interface PushedGrant {
    readonly key: string;
    readonly id: string;
    readonly token: number;
    readonly lease: number;
    readonly time: number;
    readonly batchSize: number;
    readonly units?: number | undefined;
}

export interface ReleaseReply {
    readonly released: boolean;
    readonly next: AcquireReply | undefined;
}

export interface ReleaseRequest {
    readonly key: string;
    readonly id: string;
    readonly tombstoneFor: number;
    readonly keep: number;
    readonly next: AcquireRequest | undefined;
}

export type RenewReply = number | 'not-held' | Error;

export interface RenewRequest {
    readonly key: string;
    readonly id: string;
    readonly lease: number;
}

export interface ReplicateRequest {
    readonly key: string;
    readonly id: string;
    readonly min: number;
    readonly timeout: number;
}

export interface StoredHold {
    readonly id: string;
    readonly owner: string;
    readonly mode: HoldMode;
    readonly kept: boolean;
    readonly token: number;
    readonly ttl: number;
    readonly since: number;
}

export interface StoredLock {
    readonly lastToken: number;
    readonly holds: readonly StoredHold[];
    readonly hasMore?: boolean;
    readonly waiters: readonly StoredWaiter[];
    readonly limit: number | undefined;
}

export type StoredWaiter = Pick<StoredHold, 'id' | 'owner' | 'mode' | 'since'>;

export type StoreFeature = 'fair' | 'handover' | 'holdAtLeast' | 'latchDelete' | 'latchExpire' | 'latches' | 'list' | 'owner' | 'permitChanges' | 'permits' | 'replicas';

export interface TooManyReply {
    readonly outcome: 'too many';
    readonly time: number;
    readonly limit: number;
}

export interface ListReply {
    readonly keys: readonly string[];
    readonly cursor: string | undefined;
    readonly time: number;
}

export interface ListRequest {
    readonly cursor: string;
    readonly budget: number;
}

export interface HoldSurvey {
    readonly ttl: number;
    readonly isOwned: boolean;
    readonly units: number;
    readonly hasOthers: boolean;
    readonly limit: number | undefined;
}

export interface HoldSurveyRequest {
    readonly key: string;
    readonly kind: 'exclusive' | 'read' | 'permits';
    readonly owner?: string | undefined;
}

export interface AddPermitsRequest {
    readonly key: string;
    readonly id: string;
    readonly change: number;
    readonly permits: number;
}

export interface KeepUnitsRequest {
    readonly key: string;
    readonly id: string;
    readonly units: number;
    readonly keep: number;
}

export interface PermitStore {
    add(request: AddPermitsRequest): Promise<number>;
    keepUnits(request: KeepUnitsRequest): Promise<number | 'not-held'>;
}

export declare const UNCONTENDED_BATCH_SIZE = 1000;

export interface CallSite {
    readonly pattern: string | undefined;
    readonly method?: string | undefined;
    readonly renewedLease?: number | undefined;
}

export interface ClientRecord {
    readonly label: string;
    readonly sites: readonly CallSite[];
}

export interface ClientRecordStore {
    write(record: ClientRecord, lifetime: number): Promise<void>;
    read(clientId: string): Promise<ClientRecord | undefined>;
    connected?(clientIds: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
}

export interface CountDownReply {
    readonly left: number;
    readonly counted: boolean;
}

export interface LatchCount {
    readonly left: number;
    readonly latch: string;
    readonly opened: readonly string[];
}

export interface LatchStore {
    setCount(request: SetCountRequest): Promise<boolean>;
    countDown(key: string, id: string): Promise<CountDownReply>;
    count(key: string, patience: number, seen: readonly string[]): Promise<LatchCount>;
    delete(key: string, id: string, latch: string): Promise<boolean>;
    replicate(request: ReplicateRequest): Promise<number>;
}

export interface SetCountRequest {
    readonly key: string;
    readonly id: string;
    readonly count: number;
    readonly lifetime: number;
}

export declare function createMemoryStore({ keyPrefix }: {
    readonly keyPrefix: string;
}): LockStore;

export { isLockStoreError, LockConfigError, LockStoreError, LockErrorDetails } from 'nestjs-redis-locks';
