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
  readonly process: { readonly host: string; readonly pid: number; readonly client: string | undefined };
  readonly locks: DashboardLocks;
  readonly activity: DashboardActivity;
}

/** The state of the store: the locks of all processes. */
export interface DashboardLocks {
  readonly list: readonly DashboardLock[];
  /** The largest number of locks that are shown. */
  readonly limit: number;
  /** Whether there are more locks than are shown. */
  readonly more: boolean;
  /** Whether all names in the store have been looked at once. Until then, there may be more locks. */
  readonly complete: boolean;
  /** Why the store could not be queried. `list` is then the last known state. */
  readonly trouble: string | undefined;
  /** The keys that are left out because they hold other data. */
  readonly skipped: string | undefined;
}

export interface DashboardLock {
  readonly key: string;
  /** The number of holds, and of places in the queue. `holders` and `waiters` list the first of them. */
  readonly holding: number;
  readonly waiting: number;
  readonly holders: readonly DashboardHolder[];
  readonly waiters: readonly DashboardWaiter[];
  /** The number of permits of a semaphore, if it was set at run time. */
  readonly permits: number | undefined;
  /** The fencing token by which a release names the hold. */
  readonly fencingToken: number;
}

export interface DashboardWaiter {
  readonly owner: string;
  readonly client: string;
  readonly type: 'exclusive' | 'read' | 'permits';
  readonly units: number;
}

export interface DashboardHolder extends DashboardWaiter {
  readonly fencingToken: number;
  /** For how long the lock has been held, by the clock of the store. */
  readonly age: number;
  /** The rest of the lease. */
  readonly lease: number;
  /** Whether it is released already, and its key stays locked for the rest of its `holdAtLeast`. */
  readonly kept: boolean;
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
  /** The last incidents, the newest first. */
  readonly incidents: readonly DashboardIncident[];
}

/** A lost lock, a timeout, or a release that failed. */
export interface DashboardIncident {
  readonly type: 'lost' | 'timeout' | 'unreleased';
  /** By the clock of this process. */
  readonly at: number;
  readonly key: string;
  readonly owner: string | undefined;
  readonly lockType: 'exclusive' | 'read' | 'permits';
  readonly pattern: string | undefined;
  /** How long the lock was held, or waited for. */
  readonly took: number;
  readonly reason: string | undefined;
}
