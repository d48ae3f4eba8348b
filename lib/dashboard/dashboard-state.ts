import type { LockAcquiredEvent } from '../engine/lock-event.js';
import type { LockHolder, LockState, LockWaiter } from '../service/lock-state.js';
import type { BUCKETS } from './duration-histogram.js';

/** The data of the page. Times are in ms. */
export interface DashboardState {
  readonly instance: string;
  /** The names of all instances that the page can show. */
  readonly instances: readonly string[];
  readonly readOnly: boolean;
  /** How often the data changes, at most. */
  readonly refresh: number;
  /** When the data was collected, by the clock of this process. */
  readonly at: number;
  readonly process: {
    readonly host: string;
    readonly pid: number;
    readonly client: string | undefined;
    readonly label: string | undefined;
  };
  readonly locks: DashboardLocks;
  readonly activity: DashboardActivity;
}

/** The state of the store: the locks of all processes. */
export interface DashboardLocks {
  /** The first of the locks that match the viewer's filter, in the viewer's order. */
  readonly list: readonly DashboardLock[];
  /** The largest number of locks in `list`. */
  readonly limit: number;
  /** How many locks match the filter. */
  readonly matching: number;
  readonly totals: DashboardTotals;
  /** How long ago the store gave its last answer; `undefined`: it has given none. */
  readonly age: number | undefined;
  /**
   * Why the store could not be queried, and the time since the last answer, or since the first question that failed. `list` and
   * `totals` are then the last known state.
   */
  readonly trouble: { readonly message: string; readonly for: number } | undefined;
  /** The keys that are left out because they hold other data. */
  readonly skipped: string | undefined;
}

/** Counts of all locks, not only of those in `list`. */
export interface DashboardTotals {
  readonly locks: number;
  readonly holding: number;
  /** See `DashboardLock.waiting`. */
  readonly waiting: number;
  /** The age of the oldest part of the counts. */
  readonly age: number;
  /** Whether all names in the store have been looked at once. Until then, there may be more locks. */
  readonly complete: boolean;
  /** Whether there are more locks than the application counts. */
  readonly capped: boolean;
}

/** A lock. `permits`: the number of permits of a semaphore. `fencingToken`: a release names the hold by it. */
export interface DashboardLock extends Pick<LockState, 'key' | 'permits' | 'fencingToken'> {
  /** When the lock was read, by the clock of the store. */
  readonly at: number;
  /** How long ago that was. `age` and `lease` of its holders are from then. */
  readonly ago: number;
  /** The number of holds. `holders` lists the first of them. */
  readonly holding: number;
  /** How many callers of this process wait, and how many places in the queue other processes have. */
  readonly waiting: number;
  readonly holders: readonly DashboardHolder[];
  /** The first places in the queue. The callers of one process share a place, and have none while it holds the lock. */
  readonly waiters: readonly DashboardWaiter[];
}

/** A waiter. The label of its client, the pattern and the method of the call are as far as they are known. */
export interface DashboardWaiter extends Pick<
  LockWaiter,
  'client' | 'label' | 'pattern' | 'method' | 'connected' | 'kind'
> {
  /** The owner that the caller named, or else the label of its client, or the acquisition. */
  readonly name: string;
  /** The kind in words, with the number of permits. */
  readonly kindName: string;
  /** For how long it has been waiting, or has held the lock, by the clock of the store; `undefined`: not known. */
  readonly age: number | undefined;
}

/** A hold. A release names it by its id and its token. */
export interface DashboardHolder extends DashboardWaiter, Pick<LockHolder, 'id' | 'fencingToken' | 'kept'> {
  /** The lease that its client renews, or else the longest that was seen. */
  readonly longest: number;
  /** Whether the renewal is late by a third of the lease or more. */
  readonly overdue: boolean;
  /** The rest of the lease. */
  readonly lease: number;
}

/** What this process has observed of its own locks, within `window`. */
export interface DashboardActivity {
  readonly window: number;
  /** When the recording began. */
  readonly since: number;
  /** The length of a slot in ms. The oldest slot comes first. */
  readonly slot: number;
  readonly acquired: readonly number[];
  readonly timeouts: readonly number[];
  readonly lost: readonly number[];
  readonly buckets: typeof BUCKETS;
  /** How long it took to get a lock: a free one, and a contended one. */
  readonly wait: { readonly free: readonly number[]; readonly contended: readonly number[] };
  /** How long locks were held until they were released or lost. */
  readonly hold: { readonly released: readonly number[]; readonly lost: readonly number[] };
  /** The last holds that match the viewer's filter, the newest first. */
  readonly holds: readonly DashboardHold[];
  /** The last incidents, the newest first, one for each key and type. */
  readonly incidents: readonly DashboardIncident[];
}

/** A call of this process, as its events describe it. */
export interface DashboardCall extends Pick<LockAcquiredEvent, 'key' | 'kind' | 'pattern' | 'method' | 'label'> {
  /** When it happened or began, by the clock of this process. */
  readonly at: number;
  /** The owner that the caller named, or else the label of the client. */
  readonly name: string;
  readonly reason: string | undefined;
}

/** A hold of this process, held now or before. */
export interface DashboardHold extends DashboardCall {
  /** `undefined`: it was acquired before the recording began. */
  readonly waited: number | undefined;
  /** The label of the holder that it waited for last, or the id of that client. */
  readonly previousHolder: string | undefined;
  /** How it ended, and after how long; `undefined`: it is still held. */
  readonly end: 'released' | 'unreleased' | 'lost' | undefined;
  readonly held: number | undefined;
}

/** A lost lock, a timeout, or a release that failed. Of equal incidents of one key, it describes the last one. */
export interface DashboardIncident extends DashboardCall {
  /** How many of these incidents the key has had. */
  readonly times: number;
  readonly type: 'lost' | 'timeout' | 'unreleased';
  /** How long the lock was held, or waited for. */
  readonly took: number;
  /** Why the lock was lost, as a stable word. */
  readonly lossReason: string | undefined;
  /** After a timeout, the holder; after a release by force, the next holder: the label, or the id of the client. */
  readonly holder: string | undefined;
}
