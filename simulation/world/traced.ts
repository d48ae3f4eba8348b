import type { LockStoreListener } from '../../lib/store/lock-store.js';

/** Listeners that are notified before the engine is. */
export interface Overhearing {
  onYield(id: string): void;
  onRevoked(id: string): void;
}

/** A listener whose notifications are traced. */
export function traced(
  listener: LockStoreListener,
  trace: (text: () => string) => void,
  overhearing: Overhearing,
): LockStoreListener {
  return {
    granted: (grant) => {
      trace(() => `${grant.id} hears that it is granted, token ${grant.token}`);
      listener.granted(grant);
    },
    retryAfter: (id, delay) => {
      trace(() => `${id} hears that it is to ask in ${delay} ms`);
      listener.retryAfter(id, delay);
    },
    yield: (id) => {
      trace(() => `${id} hears that it is to yield`);
      overhearing.onYield(id);
      listener.yield(id);
    },
    revoked: (id, token) => {
      trace(() => `${id} hears that it was released by force`);
      overhearing.onRevoked(id);
      listener.revoked(id, token);
    },
    opened: (key, latch) => listener.opened(key, latch),
    restored: () => listener.restored(),
  };
}
