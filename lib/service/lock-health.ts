import type { Duration } from '../common/duration.js';

/** The state of one instance, as `LockService.health` returns it. */
export interface LockHealth {
  /** Whether Redis has just answered a question; with Redlock, a majority of the masters. */
  readonly reachable: boolean;
  /** Why Redis is not reachable. */
  readonly error: string | undefined;
  /** How long the answer took, in ms; `undefined` without an answer. */
  readonly roundTrip: number | undefined;
  /** Whether messages are received. Without them no waiter is woken, and no caller may begin to wait. */
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
