import type { LockState } from '../service/lock-state.js';
import type { DashboardHolder, DashboardLock, DashboardWaiter } from './dashboard-state.js';

/** How many holders and waiters of one key are shown. */
const SHOWN = 100;

/** A lock without the time since it was read. */
export type ReadLock = Omit<DashboardLock, 'ago'>;

/** A holder or a waiter. Stores that do not know a field leave it out. */
interface Party {
  readonly owner: string;
  readonly client: string;
  readonly kind: 'exclusive' | 'read' | 'permits';
  readonly units: number;
  readonly label?: string | undefined;
  readonly pattern?: string | undefined;
  readonly method?: string | undefined;
  readonly connected?: boolean | undefined;
  readonly since?: Date | undefined;
}

/** What was known of a lock before, the lease that the watchdogs of this module renew, and the id of its client. */
export interface LockMemory {
  readonly known?: ReadLock | undefined;
  readonly lease?: number;
  readonly client?: string | undefined;
}

/** The error of the times of a lease, in ms. */
const TOLERANCE = 100;

/** `time`: the time of the store. */
export function lockOf(
  { key, holders, waiters, waitingHere, permits, fencingToken }: LockState,
  time: number,
  memory: LockMemory = {},
): ReadLock {
  // The tickets of this process stand for some of its callers.
  const elsewhere = waiters.filter(({ client }) => client !== memory.client).length;
  return {
    ...{ key, permits, fencingToken, at: time },
    holding: holders.length,
    waiting: elsewhere + waitingHere,
    holders: holders.slice(0, SHOWN).map((holder) => holderOf(holder, time, memory)),
    waiters: waiters.slice(0, SHOWN).map((waiter) => partyOf(waiter, time)),
  };
}

const partyOf = (
  { owner, client, kind, units, label, pattern, method, connected, since }: Party,
  time: number,
): DashboardWaiter => ({
  ...{ owner, client, kind, units, label, pattern, method, connected },
  // A hold that is newer than `time` has just begun.
  age: since && Math.max(0, time - since.getTime()),
});

function holderOf(holder: LockState['holders'][number], time: number, { known, lease }: LockMemory): DashboardHolder {
  const { id, ttl, kept, fencingToken } = holder;
  const before = known?.holders.find((each) => each.id === id && each.fencingToken === fencingToken);
  const age = Math.max(0, time - holder.since.getTime());
  const isOfModule = Math.abs(age + ttl - (lease ?? -Infinity)) < TOLERANCE;
  const longest = Math.max(ttl, before?.longest ?? 0, isOfModule ? lease! : 0);
  const grew = before !== undefined && time + ttl > known!.at + before.lease + TOLERANCE;
  const renews = !kept && (grew || before?.renews === true || isOfModule);
  // A renewal is due when two thirds of the lease are left.
  const overdue = renews && ttl < longest / 3;
  return { ...partyOf(holder, time), id, age, fencingToken, lease: ttl, kept, longest, renews, overdue };
}
