import type { LockLogger } from '../common/logger.js';
import type { LockStore } from '../store/lock-store.js';
import type { LockConnectionOption } from './redis-lock.connection.js';

/** How the locks of an instance are kept in Redis, other than in the layout of this library. `redisson()` returns one. */
export interface LockProtocol {
  /** Its name, for messages. */
  readonly name: string;
  /** Not part of the public API: the module calls it. */
  readonly createStore: (parts: ProtocolParts) => LockStore;
}

/** What a protocol makes its store of. */
export interface ProtocolParts {
  readonly connection: LockConnectionOption;
  readonly keyPrefix: string;
  /** ms */
  readonly commandTimeout: number;
  /** ms */
  readonly renewedLease: number;
  readonly logger: LockLogger;
}
