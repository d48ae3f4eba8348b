import { isOverdue, type LockState, type LockWaiter } from '../service/lock-state.js';
import { kindName, partyName } from '../service/party-names.js';
import type { DashboardHolder, DashboardLock, DashboardWaiter } from './dashboard-state.js';

/** How many holders and waiters of one key are shown. */
const SHOWN = 100;

/** A lock without the time since it was read. */
export type ReadLock = Omit<DashboardLock, 'ago'>;

/** What was known of a lock before, and the id of the client of this module. */
export interface LockMemory {
  readonly known?: ReadLock | undefined;
  readonly client?: string | undefined;
}

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

function partyOf(waiter: LockWaiter, time: number): DashboardWaiter {
  const { client, kind, label, pattern, method, connected, since } = waiter;
  // A hold that is newer than `time` has just begun. Redisson does not write since when.
  const age = Number.isNaN(since.getTime()) ? undefined : Math.max(0, time - since.getTime());
  const names = { name: partyName(waiter), kindName: kindName(waiter) };
  return { ...names, client, kind, label, pattern, method, connected, age };
}

function holderOf(holder: LockState['holders'][number], time: number, { known }: LockMemory): DashboardHolder {
  const { id, ttl, renewedLease, kept, fencingToken } = holder;
  const before = known?.holders.find((each) => each.id === id && each.fencingToken === fencingToken);
  const longest = Math.max(ttl, before?.longest ?? 0, renewedLease ?? 0);
  const party = partyOf(holder, time);
  const overdue = isOverdue(holder, party.age ?? 0);
  return { ...party, id, fencingToken, lease: ttl, kept, longest, overdue };
}
