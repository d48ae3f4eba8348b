import { randomBytes } from 'node:crypto';
import { LockStoreError } from '../../errors/index.js';
import type { ListReply } from '../key-list.js';
import type { ClientRecord, ClientRecords } from '../client-records.js';
import type { LatchStore } from '../latch-store.js';
import type {
  AcquireAllReply,
  AcquireReply,
  AcquireRequest,
  ForceReleaseReply,
  HoldName,
  LockStore,
  LockStoreListener,
  OfferReply,
  OfferRequest,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
  ReplicateRequest,
  StoredLock,
} from '../lock-store.js';
import type { PermitStore } from '../permit-store.js';
import type { FenceReply, FenceRequest, ReinstateReply, ReinstateRequest } from '../quorum-member.js';
import type { MemoryBackend } from './memory-backend.js';
import type { MemoryLatch } from './memory-latch.js';
import type { MemoryLock } from './memory-lock.js';
import type { HoldChoice } from '../hold-choice.js';

/** One client's store for locks in the memory of this process. The locks behave as in Redis. */
export class MemoryStore implements LockStore {
  readonly clientId = randomBytes(16).toString('hex');
  /** A connection cannot be lost. */
  readonly epoch = 0;
  readonly unreachable = undefined;
  readonly keepsPermits = true;
  readonly latches: LatchStore = {
    setCount: ({ key, id, count, lifetime }) => this.withLatch(key, (latch) => latch.set(id, count, lifetime)),
    countDown: (key, id) => this.withLatch(key, (latch) => latch.countDown(id)),
    count: (key, patience, seen) => this.withLatch(key, (latch) => latch.count(this.clientId, patience, seen)),
    delete: (key, id, name) => this.withLatch(key, (latch) => latch.delete(id, name)),
    replicate: async ({ min }) => min, // nothing can fail over
  };
  readonly permits: PermitStore = {
    add: ({ key, id, change, permits }) => this.withLock(key, (lock) => lock.addToLimit(id, change, permits)),
    keepUnits: ({ key, id, units, keep }) => this.withLock(key, (lock) => lock.keepUnits(id, units, keep)),
  };
  readonly clients: ClientRecords = {
    write: (record, lifetime) => this.execute(() => this.backend.writeClient(this.clientId, record, lifetime)),
    read: (clientId): Promise<ClientRecord | undefined> => this.execute(() => this.backend.readClient(clientId)),
  };
  private hears = false;
  private closed = false;
  private listener: LockStoreListener | undefined;

  constructor(private readonly backend: MemoryBackend) {}

  /** Whether the client would receive a pushed grant now. */
  get listening(): boolean {
    return this.hears;
  }

  listen(listener: LockStoreListener): void {
    this.listener = listener;
  }

  start(): Promise<void> {
    return this.execute(() => {
      if (this.hears || this.closed) return;
      this.hears = true;
      this.backend.subscribe(this.clientId, (message) => this.listener && message(this.listener));
      this.listener?.restored();
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    this.hears = false;
    this.backend.unsubscribe(this.clientId);
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.withLock(request.key, (lock) => lock.acquire(this.audible(request)));
  }

  release(request: ReleaseRequest): Promise<ReleaseReply> {
    const next = request.next && this.audible(request.next);
    return this.withLock(request.key, (lock) => lock.release({ ...request, next }));
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    try {
      return await this.execute(() =>
        requests.map(({ key, id, lease }) => this.backend.withLock(key, (lock) => lock.renew(id, lease))),
      );
    } catch (error) {
      return requests.map(() => error as LockStoreError);
    }
  }

  offer(request: OfferRequest): Promise<OfferReply> {
    return this.withLock(request.key, (lock) => lock.offer(request));
  }

  extend({ key, id, lease }: RenewRequest): Promise<RenewReply> {
    return this.withLock(key, (lock) => lock.extend(id, lease));
  }

  acquireAll(requests: readonly AcquireRequest[]): Promise<AcquireAllReply | undefined> {
    return this.execute(() => this.backend.acquireAll(requests));
  }

  /** Without a failover, every write counts as replicated, unless the hold does not exist. */
  replicate({ key, id, min }: ReplicateRequest): Promise<number> {
    return this.withLock(key, (lock) => (lock.has(id) ? min : 0));
  }

  setLimit(key: string, permits: number): Promise<void> {
    return this.withLock(key, (lock) => lock.setLimit(permits));
  }

  forceRelease(key: string, hold?: HoldChoice): Promise<ForceReleaseReply> {
    return this.withLock(key, (lock) => lock.endHolds(hold === undefined ? undefined : lock.named(hold)));
  }

  /** As `QuorumMember.endHolds`. */
  endHolds(key: string, holds: readonly HoldName[], memory?: number): Promise<ForceReleaseReply> {
    return this.withLock(key, (lock) => lock.endHolds(holds, memory));
  }

  /** As `QuorumMember.fence`. */
  fence(request: FenceRequest): Promise<FenceReply> {
    return this.withLock(request.key, (lock) => lock.fence(request));
  }

  /** As `QuorumMember.reinstate`. */
  reinstate(request: ReinstateRequest): Promise<ReinstateReply> {
    return this.withLock(request.key, (lock) => lock.reinstate(request));
  }

  inspect(key: string): Promise<StoredLock> {
    return this.execute(() => this.backend.inspect(key));
  }

  /** All keys in one part, because the backend contains nothing but locks. */
  list(): Promise<ListReply> {
    return this.execute(() => ({ keys: this.backend.heldKeys(), cursor: undefined, time: this.backend.now }));
  }

  /**
   * A store that is not started receives no messages, so its requests join no queue. They are repeated when it starts.
   */
  private audible(request: AcquireRequest): AcquireRequest {
    return this.hears ? request : { ...request, waits: false };
  }

  private withLock<Reply>(key: string, script: (lock: MemoryLock) => Reply): Promise<Reply> {
    return this.execute(() => this.backend.withLock(key, script));
  }

  private withLatch<Reply>(key: string, script: (latch: MemoryLatch) => Reply): Promise<Reply> {
    return this.execute(() => this.backend.withLatch(key, script));
  }

  private async execute<Reply>(script: () => Reply): Promise<Reply> {
    if (this.closed) throw new LockStoreError('the memory store is closed');
    return this.backend.execute(script);
  }
}
