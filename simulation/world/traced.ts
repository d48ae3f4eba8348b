import type { LockStoreListener } from '../../lib/store/lock-store.js';

/** Who hears it before the engine does. */
export interface Overhearing {
  onYield(id: string): void;
  onRevoked(id: string): void;
}

/** A listener of which is told what it hears. */
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
    askIn: (id, delay) => {
      trace(() => `${id} hears that it is to ask in ${delay} ms`);
      listener.askIn(id, delay);
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
