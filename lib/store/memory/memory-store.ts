import { randomBytes } from 'node:crypto';
import { LockStoreError } from '../../errors/index.js';
import type {
  ListReply,
  AcquireAllReply,
  AcquireReply,
  AcquireRequest,
  ForceReleaseReply,
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
  HoldChoice,
} from '../lock-store.js';
import type { ClientRecordStore } from '../client-records.js';
import type { LatchStore } from '../latch-store.js';
import type { PermitStore } from '../permit-store.js';
import { sharedBackend, type MemoryBackend } from './memory-backend.js';
import type { MemoryLatch } from './memory-latch.js';
import type { MemoryLock } from './memory-lock.js';

/**
 * One client's store for locks in the memory of this process. Calls arrive once and in order, and no client is cut off. So
 * unlike in Redis, it remembers no calls, and grants a waiter its full lease at once.
 */
export class MemoryStore implements LockStore {
  readonly clientId = randomBytes(16).toString('hex');
  /** A connection cannot be lost. */
  readonly epoch = 0;
  readonly unreachable = undefined;
  readonly latches: LatchStore = {
    setCount: (request) => this.withLatch(request.key, (latch) => latch.set(request)),
    countDown: (key) => this.withLatch(key, (latch) => latch.countDown()),
    count: (key, patience, seen) => this.withLatch(key, (latch) => latch.count(this.clientId, patience, seen)),
    delete: (key, _id, name) => this.withLatch(key, (latch) => latch.delete(name)),
    replicate: async ({ min }) => min, // nothing can fail over
  };
  readonly permits: PermitStore = {
    add: (request) => this.withLock(request.key, (lock) => lock.addToLimit(request)),
    keepUnits: (request) => this.withLock(request.key, (lock) => lock.keepUnits(request)),
  };
  readonly clients: ClientRecordStore = {
    write: (record) => this.execute(() => void this.backend.records.set(this.clientId, record)),
    read: (clientId) => this.execute(() => this.backend.records.get(clientId)),
    connected: (ids) => this.execute(() => new Map(ids.map((id) => [id, this.backend.isPresent(id)]))),
  };
  listening = false;
  private closed = false;
  private listener: LockStoreListener | undefined;

  constructor(private readonly backend: MemoryBackend) {}

  listen(listener: LockStoreListener): void {
    this.listener = listener;
  }

  start(): Promise<void> {
    return this.execute(() => {
      if (this.listening || this.closed) return;
      this.listening = true;
      this.backend.subscribe(this.clientId, (message) => this.listener && message(this.listener));
      this.listener?.restored();
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    this.listening = false;
    await this.backend.leave(this.clientId);
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

  forceRelease(key: string, hold?: HoldChoice, by?: string): Promise<ForceReleaseReply> {
    return this.withLock(key, (lock) => lock.forceRelease(hold, by));
  }

  inspect(key: string): Promise<StoredLock> {
    return this.withLock(key, (lock) => lock.inspect());
  }

  /** All keys in one part, because the backend contains nothing but locks. */
  list(): Promise<ListReply> {
    return this.execute(() => ({ keys: this.backend.heldKeys(), cursor: undefined, time: this.backend.now }));
  }

  /**
   * A store that is not started receives no messages, so its requests join no queue. They are repeated when it starts.
   */
  private audible(request: AcquireRequest): AcquireRequest {
    return this.listening ? request : { ...request, waits: false };
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

/**
 * Creates the store of `store: 'memory'`, for a store that wraps it or serves it to other processes. All such stores of one
 * process with the same `keyPrefix` share their locks. Time comes from the clock of the system.
 */
export function createMemoryStore({ keyPrefix }: { readonly keyPrefix: string }): LockStore {
  return new MemoryStore(sharedBackend(keyPrefix));
}
