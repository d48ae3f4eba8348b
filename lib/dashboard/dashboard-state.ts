import type { BUCKETS } from './duration-histogram.js';

/** What the page is told: all it shows. Times are in ms. */
export interface DashboardState {
  readonly instance: string;
  /** All that can be looked at. */
  readonly instances: readonly string[];
  readonly readOnly: boolean;
  /** How often there is something new. */
  readonly refresh: number;
  /** When this was true, by the clock of this process. */
  readonly at: number;
  readonly process: { readonly host: string; readonly pid: number; readonly client: string | undefined };
  readonly locks: DashboardLocks;
  readonly activity: DashboardActivity;
}

/** What the store knows: the locks of all processes. */
export interface DashboardLocks {
  readonly list: readonly DashboardLock[];
  /** At most so many are shown. */
  readonly limit: number;
  /** Whether there are more than are shown. */
  readonly more: boolean;
  /** Whether all names of the store have been looked at once; until then there may be others. */
  readonly complete: boolean;
  /** Why the store could not be asked; then `list` is what was known before. */
  readonly trouble: string | undefined;
  /** Which keys are left out, since they hold values of others. */
  readonly skipped: string | undefined;
}

export interface DashboardLock {
  readonly key: string;
  /** How many hold it and how many places are taken in its queue; of both the first ones follow. */
  readonly holding: number;
  readonly waiting: number;
  readonly holders: readonly DashboardHolder[];
  readonly waiters: readonly DashboardWaiter[];
  /** The number of permits of a semaphore, where it was set at run time. */
  readonly permits: number | undefined;
  /** The token by which a release says what it means. */
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
  /** For how long it has been held, by the clock of the store. */
  readonly age: number;
  /** How much of its lease is left. */
  readonly lease: number;
  /** Given back already, and kept for the rest of its `holdAtLeast`. */
  readonly kept: boolean;
}

/** What this process has seen of its own locks, over `window`. */
export interface DashboardActivity {
  readonly window: number;
  /** Since when it has looked. */
  readonly since: number;
  /** By slots of so many ms, the oldest first. */
  readonly slot: number;
  readonly acquired: readonly number[];
  readonly timeouts: readonly number[];
  readonly lost: readonly number[];
  readonly buckets: typeof BUCKETS;
  /** How long it took to get a lock: one that was free, one that others held. */
  readonly wait: { readonly free: readonly number[]; readonly contended: readonly number[] };
  /** How long locks were held until they were given back, or lost. */
  readonly hold: { readonly released: readonly number[]; readonly lost: readonly number[] };
  /** The last ones, the newest first. */
  readonly incidents: readonly DashboardIncident[];
}

/** A lock that was lost, a wait that was in vain, a release that did not arrive. */
export interface DashboardIncident {
  readonly type: 'lost' | 'timeout' | 'unreleased';
  /** By the clock of this process. */
  readonly at: number;
  readonly key: string;
  readonly owner: string | undefined;
  readonly lockType: 'exclusive' | 'read' | 'permits';
  readonly pattern: string | undefined;
  /** How long it was held, or waited for. */
  readonly took: number;
  readonly reason: string | undefined;
}
