import type { Duration } from '../common/duration.js';

/** How the locks of one instance are, as `LockService.health` tells it. */
export interface LockHealth {
  /** Whether Redis has answered a question just now; with Redlock, a majority. */
  readonly reachable: boolean;
  /** Why not. */
  readonly error: string | undefined;
  /** How long the answer took, in ms; `undefined` without one. */
  readonly roundTrip: number | undefined;
  /** Whether messages are heard: without them nobody who waits is woken, and nobody may begin to wait. */
  readonly subscribed: boolean;
  /** For how long the renewal that is most overdue has been due, in ms; 0: all are in time. */
  readonly watchdogLag: number;
  /** How many locks this instance holds. */
  readonly held: number;
}

/** How `LockService.health` asks. */
export interface LockHealthOptions {
  /**
   * How long Redis may take to answer, in milliseconds or `'1s'`.
   * @defaultValue the module's `commandTimeout`
   */
  timeout?: Duration;
}
