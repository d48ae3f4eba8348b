import type { LockService } from '../../service/lock.service.js';
import type { RedisLockModuleOptions } from '../../module/redis-lock.options.js';
import type { LockStore } from '../../store/lock-store.js';

/** What the contract needs of a store that it is to try. */
export interface LockStoreHarness {
  /** A started service: a new client of the one backend that all clients share (`createLockClient` makes one). */
  client(options: LockClientOptions): Promise<LockService>;
  /** A new client of the same backend, without anything on top. */
  store(): Promise<LockStore>;
  /** What the backend itself knows of a key, asked past the store. */
  truth(key: string): Promise<StoreTruth>;
  /** Lets so many milliseconds pass. */
  sleep(ms: number): Promise<void>;
  /** Milliseconds on the clock by which `sleep` lets time pass. */
  now(): number;
  /** Ends the backend; for the one who runs the cases, at the end. */
  stop(): Promise<void>;
  /**
   * How long a client that died in the queue may keep those behind it waiting, in milliseconds. Default 0: the backend knows at
   * once who listens. One that cannot know needs its grant timeout.
   */
  readonly absenceNoticedAfter?: number;
}

/** What a client is told; the rest is for the harness to say. */
export type LockClientOptions = Pick<
  RedisLockModuleOptions,
  | 'lockWatchdogTimeout'
  | 'commandTimeout'
  | 'grantTimeout'
  | 'localHandoffs'
  | 'localHandoffTime'
  | 'shutdownTimeout'
  | 'defaults'
>;

/** What a backend knows of one key. */
export interface StoreTruth {
  /** Holds whose leases have not ended. */
  readonly holds: ReadonlyArray<{ readonly id: string; readonly left: number }>;
  /** Ids of the tickets in the queue, in order. */
  readonly waiting: readonly string[];
}

/** One case of a contract, for any test runner. */
export interface ContractCase {
  readonly name: string;
  /** Rejects, with an `AssertionError` where it is one, when the case is not as it has to be. */
  run(): Promise<void>;
}
