import type { AcquireReply, AcquireRequest, OfferReply, OfferRequest } from '../lock-store.js';
import { grantWaiters } from './memory-grant-waiters.js';
import { findHold, type MemoryLockState } from './memory-lock-state.js';

/** Offers a hold to another client, as `lua/offer.lua` does. */
export function offer(lock: MemoryLockState, { id, offer: name, lease }: OfferRequest): OfferReply {
  const { now } = lock.server;
  const { holds, ended } = lock.holds.read(now);
  const offered = findHold(holds, name);
  if (offered !== undefined) return offered.ends - now;
  const hold = findHold(holds, id);
  if (hold === undefined || hold.kept) return 'not-held';
  const others = holds.filter((other) => other !== hold);
  if (others.some(({ owner }) => owner === hold.owner)) return 'shared';
  replace(lock, id, { ...hold, id: name, owner: name, ends: now + lease, pushed: false }, others, ended);
  return lease;
}

/** Takes a hold over that another client has offered, as `lua/adopt.lua` does. */
export function adopt(lock: MemoryLockState, { id, lease }: AcquireRequest, name: string): AcquireReply {
  const { now } = lock.server;
  const { holds, ended } = lock.holds.read(now);
  const mine = findHold(holds, id);
  if (mine !== undefined) return lock.held(mine);
  const offered = findHold(holds, name);
  if (offered === undefined) return { outcome: 'left', time: now };
  const token = lock.server.nextToken(lock.key, lease, 1, 1);
  const hold = { ...offered, id, owner: id, token, since: now, ends: now + lease };
  const others = holds.filter((other) => other !== offered);
  replace(lock, name, hold, others, ended);
  if (hold.mode.kind === 'permits') lock.limit.used();
  return lock.held(hold);
}

type Read = ReturnType<MemoryLockState['holds']['read']>;

/** Replaces the hold `id` by one with another id. A lease may end earlier now than the last reply to the head of the queue said. */
function replace(
  lock: MemoryLockState,
  id: string,
  hold: Read['holds'][number],
  others: Read['holds'],
  ended: Read['ended'],
): void {
  const holds = [...others, hold];
  lock.holds.delete(id, lock.server.now);
  lock.holds.write(hold);
  lock.holds.keepAsLongAs(holds);
  grantWaiters(lock, holds, ended);
}
