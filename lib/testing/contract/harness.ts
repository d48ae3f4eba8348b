import type { LockService } from '../../service/lock.service.js';
import type { RedisLockModuleOptions } from '../../module/redis-lock.options.js';
import type { LockStore } from '../../store/lock-store.js';

/** What the contract needs to know about the store under test. */
export interface LockStoreHarness {
  /** Creates a started service: a new client of the one backend that all clients share (see `createLockClient`). */
  client(options: ContractClientOptions): Promise<LockService>;
  /** Creates a new store on the same backend. */
  store(): Promise<LockStore>;
  /** Returns the state of a key in the backend itself, without the store. */
  truth(key: string): Promise<StoreTruth>;
  /** Lets this many milliseconds pass. */
  sleep(ms: number): Promise<void>;
  /** The time in milliseconds, on the clock that `sleep` uses. */
  now(): number;
  /** Stops the backend. The code that runs the cases calls it at the end. */
  stop(): Promise<void>;
  /**
   * How long a crashed waiter may block the waiters behind it, in milliseconds. Default 0: the backend knows at once
   * which clients are subscribed. A backend that cannot know needs its grant timeout.
   */
  readonly absenceNoticedAfter?: number;
  /**
   * Whether each call arrives once and in order, as within one process. Default `false`: the cases about late and duplicate
   * calls run, too.
   */
  readonly deliversOnce?: boolean;
}

/** The options that a case sets. The harness chooses the others. */
export type ContractClientOptions = Pick<
  RedisLockModuleOptions,
  | 'renewedLease'
  | 'commandTimeout'
  | 'grantTimeout'
  | 'localHandoffs'
  | 'localHandoffTime'
  | 'shutdownTimeout'
  | 'defaults'
>;

/** The state of one key in the backend. */
export interface StoreTruth {
  /** The holds whose leases have not ended. */
  readonly holds: ReadonlyArray<{ readonly id: string; readonly left: number }>;
  /** The ids of the tickets in the queue, in order. */
  readonly waiting: readonly string[];
}

/** One case of a contract, for any test runner. */
export interface ContractCase {
  readonly name: string;
  /** Rejects if the case fails, mostly with an `AssertionError`. */
  run(): Promise<void>;
}
