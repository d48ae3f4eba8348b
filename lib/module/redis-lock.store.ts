import type { Clock } from '../common/clock.js';
import type { LockLogger } from '../common/logger.js';
import type { LockStore } from '../store/lock-store.js';

/** What keeps the locks: Redis, the memory of this process, or a store that a function makes. */
export type LockStoreChoice = 'redis' | 'memory' | LockStoreFactory;

/** Makes a store of your own, once for each `LockService`. */
export type LockStoreFactory = (parts: LockStoreContext) => LockStore;

/** What the module gives to the function in `store`. */
export interface LockStoreContext {
  /** The source of time: a manual clock in tests. */
  readonly clock: Clock;
  /** Where log messages go. */
  readonly logger: LockLogger;
  /** The module's `keyPrefix`. */
  readonly keyPrefix: string;
  /** The module's `commandTimeout`, in milliseconds. */
  readonly commandTimeout: number;
}
