import { randomBytes } from 'node:crypto';
import { LockStoreError } from '../../errors/index.js';
import type { AcquireRequest, LockStore, LockStoreListener } from '../lock-store.js';
import { sharedBackend, type MemoryBackend } from './memory-backend.js';
import type { MemoryLatch } from './memory-latch.js';
import type { MemoryLock } from './memory-lock.js';

/**
 * One client's store for locks in the memory of this process. Calls arrive once and in order, and no client is cut off. So
 * unlike in Redis, it remembers no calls, and grants a waiter its full lease at once.
 */
export function memoryStore(backend: MemoryBackend): LockStore {
  const clientId = randomBytes(16).toString('hex');
  let listening = false;
  let closed = false;
  let listener: LockStoreListener | undefined;

  const execute = async <Reply>(script: () => Reply): Promise<Reply> => {
    if (closed) throw new LockStoreError('the memory store is closed');
    return backend.execute(script);
  };
  const withLock = <Reply>(key: string, script: (lock: MemoryLock) => Reply): Promise<Reply> =>
    execute(() => backend.withLock(key, script));
  const withLatch = <Reply>(key: string, script: (latch: MemoryLatch) => Reply): Promise<Reply> =>
    execute(() => backend.withLatch(key, script));
  /** A store that is not started receives no messages, so its requests join no queue. They are repeated when it starts. */
  const audible = (request: AcquireRequest): AcquireRequest => (listening ? request : { ...request, waits: false });

  return {
    clientId,
    get listening() {
      return listening;
    },
    /** A connection cannot be lost. */
    epoch: 0,
    unreachable: undefined,
    latches: {
      setCount: (request) => withLatch(request.key, (latch) => latch.set(request)),
      countDown: (key) => withLatch(key, (latch) => latch.countDown()),
      count: (key, patience, seen) => withLatch(key, (latch) => latch.count(clientId, patience, seen)),
      delete: (key, _id, name) => withLatch(key, (latch) => latch.delete(name)),
      replicate: async ({ min }) => min, // nothing can fail over
    },
    permits: {
      add: (request) => withLock(request.key, (lock) => lock.addToLimit(request)),
      keepUnits: (request) => withLock(request.key, (lock) => lock.keepUnits(request)),
    },
    clients: {
      write: (record) => execute(() => void backend.records.set(clientId, record)),
      read: (id) => execute(() => backend.records.get(id)),
      connected: (ids) => execute(() => new Map(ids.map((id) => [id, backend.isPresent(id)]))),
    },

    listen: (to) => void (listener = to),
    start: () =>
      execute(() => {
        if (listening || closed) return;
        listening = true;
        backend.subscribe(clientId, (message) => listener && message(listener));
        listener?.restored();
      }),
    async close() {
      closed = true;
      listening = false;
      await backend.leave(clientId);
    },

    acquire: (request) => withLock(request.key, (lock) => lock.acquire(audible(request))),
    release: (request) => {
      const next = request.next && audible(request.next);
      return withLock(request.key, (lock) => lock.release({ ...request, next }));
    },
    async renew(requests) {
      try {
        return await execute(() =>
          requests.map(({ key, id, lease }) => backend.withLock(key, (lock) => lock.renew(id, lease))),
        );
      } catch (error) {
        return requests.map(() => error as LockStoreError);
      }
    },
    offer: (request) => withLock(request.key, (lock) => lock.offer(request)),
    acquireAll: (requests) => execute(() => backend.acquireAll(requests)),
    /** Without a failover, every write counts as replicated, unless the hold does not exist. */
    replicate: ({ key, id, min }) => withLock(key, (lock) => (lock.has(id) ? min : 0)),
    setLimit: (key, permits) => withLock(key, (lock) => lock.setLimit(permits)),
    forceRelease: (key, hold, by) => withLock(key, (lock) => lock.forceRelease(hold, by)),
    inspect: (key) => withLock(key, (lock) => lock.inspect()),
    /** All keys in one part, because the backend contains nothing but locks. */
    list: () => execute(() => ({ keys: backend.heldKeys(), cursor: undefined, time: backend.now })),
  };
}

/**
 * Creates the store of `store: 'memory'`, for a store that wraps it or serves it to other processes. All such stores of one
 * process with the same `keyPrefix` share their locks. Time comes from the clock of the system.
 */
export function createMemoryStore({ keyPrefix }: { readonly keyPrefix: string }): LockStore {
  return memoryStore(sharedBackend(keyPrefix));
}
