import type { LockStoreListener } from '../lock-store.js';

/** What a lock finds around it while something is executed: in Redis, the server's clock, its fences and its channels. */
export interface MemoryServer {
  /** The moment of what is being executed, in ms. */
  readonly now: number;
  /** The same in microseconds. */
  readonly micros: number;
  /** The last fencing token of a key; 0: none is remembered. */
  lastToken(key: string): number;
  nextToken(key: string, lease: number, wanted: number): number;
  /** Nobody is to get this token or a smaller one. */
  rememberToken(key: string, token: number, lease: number): void;
  /** Whether the client of an acquisition hears. */
  isPresent(id: string): boolean;
  /** Has something told to the client of an acquisition, behind the answers. */
  tell(id: string, message: (client: LockStoreListener) => void): void;
}

/** An acquisition's id begins with its client's; and a client's own id stands for itself. */
export const clientOf = (id: string): string => /^[^:]*/.exec(id)![0];
