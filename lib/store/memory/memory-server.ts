import type { LockStoreListener } from '../lock-store.js';

/** The parts of a server that a lock uses during a script: in Redis, its clock, its fences and its channels. */
export interface MemoryServer {
  /** The time of the running script, in ms. */
  readonly now: number;
  /** The same in microseconds. */
  readonly micros: number;
  /** The last fencing token of a key; 0: none is stored. */
  lastToken(key: string): number;
  /** Reserves `wanted` tokens, or fewer but at least `least` while tokens are ahead of the clock. Returns the first. */
  nextToken(key: string, lease: number, wanted: number, least: number): number;
  /** Makes sure that no hold gets this token or a smaller one. */
  rememberToken(key: string, token: number, lease: number): void;
  /** Whether the client of an acquisition is subscribed. */
  isPresent(id: string): boolean;
  /** Sends a message to the client of an acquisition, after the replies. */
  tell(id: string, message: (client: LockStoreListener) => void): void;
}

/** The id of the client, with which the id of an acquisition begins. A client's own id is returned unchanged. */
export const clientOf = (id: string): string => /^[^:]*/.exec(id)![0];
