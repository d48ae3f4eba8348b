import type { Duration } from '../common/duration.js';

/** The state of one instance, as `LockService.health` returns it. */
export interface LockHealth {
  /** The id of this client, and its `label`. */
  readonly client: string;
  readonly label: string;
  /** Whether Redis has just answered a request; with Redlock, a majority of the masters. */
  readonly reachable: boolean;
  /** Why Redis is not reachable. */
  readonly error: string | undefined;
  /** How long the answer took, in ms; `undefined` without an answer. */
  readonly roundTrip: number | undefined;
  /** Whether the client receives messages. Without them, it wakes no waiter, and no call may start to wait. */
  readonly subscribed: boolean;
  /** How late the latest renewal is, in ms; 0: all renewals are in time. */
  readonly watchdogLag: number;
  /** How many locks this instance holds. */
  readonly held: number;
}

/** Options of `LockService.health`. */
export interface LockHealthOptions {
  /**
   * How long Redis may take to answer, in milliseconds or `'1s'`.
   * @defaultValue the module's `commandTimeout`
   */
  timeout?: Duration;
}
