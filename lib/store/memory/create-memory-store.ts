import type { LockStore } from '../lock-store.js';
import { sharedBackend } from './memory-backend.js';
import { MemoryStore } from './memory-store.js';

/**
 * Creates the store of `store: 'memory'`, for a store that wraps it or serves it to other processes. All such stores of one
 * process with the same `keyPrefix` share their locks. Time comes from the clock of the system.
 */
export function createMemoryStore({ keyPrefix }: { readonly keyPrefix: string }): LockStore {
  return new MemoryStore(sharedBackend(keyPrefix));
}
