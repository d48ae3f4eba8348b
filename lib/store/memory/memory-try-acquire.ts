import { UNCONTENDED_BATCH_SIZE, type AcquireReply, type HeldReply, type HoldMode } from '../lock-store.js';
import { grantWaiters } from './memory-grant-waiters.js';
import type { MemoryHold } from './memory-holds.js';
import { findHold, type MemoryLockState, type OwnedRequest } from './memory-lock-state.js';
import { exceedsLimit, freePermits, isClosed, limitFor, reenters, unitsOf, upgrades } from './memory-modes.js';
import { retryTime } from './memory-queue.js';
import { clientOf } from './memory-server.js';

/** The holds of a lock: those whose leases run, and expired ones. */
interface Holds {
  readonly holds: MemoryHold[];
  readonly ended: readonly MemoryHold[];
}

/**
 * Grants a request, or gives it a place in the queue, as `lua/shared/try-acquire.lua` does. `afterRelease`: the same step
 * has just released a hold.
 */
export function tryAcquire(lock: MemoryLockState, request: OwnedRequest, afterRelease = false): AcquireReply {
  const { now } = lock.server;
  const read = lock.holds.read(now);
  const { holds, ended } = read;
  const limit = lock.limit.value;
  const mine = findHold(holds, request.id);
  if (mine !== undefined) return complete(lock, holds, mine, request);
  if (drains(request)) return drain(lock, request, read);
  if (!lock.queue.exists(now) && !lock.tombstones.exist && lock.admits(holds, request)) {
    return lock.grantNow(holds, request, request.uncontendedBatchSize);
  }
  if (lock.tombstones.has(request.id)) {
    grantWaiters(lock, holds, ended);
    return { outcome: 'left', time: now };
  }
  if (exceedsLimit(request, limit)) {
    // The request may have a ticket from before the number of permits was lowered.
    if (lock.queue.drop(request.id)) grantWaiters(lock, holds, ended);
    return { outcome: 'too many', time: now, limit: limitFor(request.mode, limit) };
  }
  if (upgrades(holds, request)) {
    // The request may have a ticket from before the read lock was granted to its owner.
    if (lock.queue.drop(request.id)) grantWaiters(lock, holds, ended);
    return { outcome: 'upgrade', time: now };
  }
  if (reenters(holds, request)) {
    lock.queue.drop(request.id);
    return lock.grantNow(holds, request);
  }
  return request.waits ? enqueue(lock, request, read, afterRelease) : tryOnce(lock, request, read);
}

function tryOnce(lock: MemoryLockState, request: OwnedRequest, { holds, ended }: Holds): AcquireReply {
  const { head } = grantWaiters(lock, holds, ended);
  if (head === undefined && lock.admits(holds, request)) {
    lock.queue.drop(request.id); // from when its client was subscribed: the ticket of a hold would be granted again
    return lock.grantNow(holds, request);
  }
  return lock.notHeld('busy', holds, retryTime(holds, 0, request, lock.server.now));
}

type PermitsMode = Extract<HoldMode, { readonly kind: 'permits' }>;

const drains = ({ mode, waits }: OwnedRequest): boolean => mode.kind === 'permits' && mode.units === 0 && !waits;

/** Grants all free permits, unless callers wait for them. */
function drain(lock: MemoryLockState, request: OwnedRequest, { holds, ended }: Holds): AcquireReply {
  if (lock.tombstones.has(request.id)) {
    grantWaiters(lock, holds, ended);
    return { outcome: 'left', time: lock.server.now };
  }
  const isAlone = !lock.queue.exists(lock.server.now) && !lock.tombstones.exist;
  const { head } = grantWaiters(lock, holds, ended);
  const mode = { ...request.mode, units: freePermits(holds, request.mode, lock.limit.value) } as PermitsMode;
  if (head !== undefined || mode.units < 1)
    return lock.notHeld('busy', holds, retryTime(holds, 0, request, lock.server.now));
  lock.queue.drop(request.id);
  const batchSize = isAlone ? request.uncontendedBatchSize : request.batchSize;
  return lock.grantNow(holds, { ...request, mode, slots: 1 }, batchSize);
}

function enqueue(
  lock: MemoryLockState,
  request: OwnedRequest,
  { holds, ended }: Holds,
  afterRelease: boolean,
): AcquireReply {
  const { queue, server } = lock;
  const { now } = server;
  const { id, owner, mode, lease, grantTimeout, batchSize, fair, slots } = request;
  const arrival = request.age === undefined ? undefined : server.micros - request.age * 1_000;
  const isNew = !queue.has(id, now);
  const since = (isNew ? undefined : queue.sinceOf(id)) ?? Math.floor(now - (request.age ?? 0));
  const place = queue.placeFor(id, arrival, { ...request, ahead: request.ahead === true && !fair }, now);
  const ahead = queue.before(place);
  const retryAt = retryTime(holds, ahead, request, now);
  const staleAt = now + request.patience;
  queue.write({ id, owner, mode, lease, grantTimeout, batchSize, fair, slots, place, since, retryAt, staleAt }, now);
  queue.keepFor(request.patience, now);
  // Nothing can be granted if the lock is held exclusively and the request is not at the head of the queue. The exceptions
  // are a lock that this step has released, and a place that an age has changed.
  const changed = afterRelease || request.age !== undefined || ended.length > 0;
  const mayGrant = changed || ahead === 0 || !isClosed(holds);
  const granted = mayGrant ? grantWaiters(lock, holds, ended, id).batchSize : 1;
  const mine = findHold(holds, id);
  if (mine !== undefined) return lock.held(mine, granted);
  if (fair) lock.endBatches(holds, () => true);
  else if (holds[0]?.mode.kind === 'permits') endUncontendedBatches(lock, holds, id);
  // Readers of these clients may join the holds that their clients have.
  else if (isNew && mode.kind !== 'read' && holds[0]?.mode.kind === 'read') lock.endBatches(holds, () => true);
  // The holder has an uncontended batch, since no other client waited.
  else if (isNew && ahead === 0 && holds.length === 1 && lock.batchSizeOf(holds[0]!) >= UNCONTENDED_BATCH_SIZE)
    lock.endBatches(holds, () => true);
  return lock.notHeld('queued', holds, retryAt);
}

/**
 * Answers a request whose acquisition holds the lock already: a request may arrive twice. A pushed grant becomes a full
 * lease, as if it had been full from the start, so a duplicate that arrives late makes no fixed lease longer.
 */
function complete(
  lock: MemoryLockState,
  holds: readonly MemoryHold[],
  hold: MemoryHold,
  { lease, batchSize, mode, fair }: OwnedRequest,
): HeldReply {
  // While an exclusive hold is the only one, its batch has the last tokens. Later holds of permits may have ended before.
  const isExclusive = hold.mode.kind === 'exclusive';
  const hasLast = isExclusive && holds.length === 1 && batchSize > 1 && !fair && !lock.queue.hasFair(lock.server.now);
  const slots = Math.max(1, Math.floor((unitsOf(hold.mode) || 1) / (unitsOf(mode) || 1)));
  hold.pushed = false;
  hold.ends = Math.max(hold.ends, hold.since + lease);
  lock.holds.keepAsLongAs(holds);
  return lock.held(hold, hasLast ? lock.batchSizeOf(hold) : slots);
}

/** The uncontended batches of other clients than that of a request. Each of them gets one message. */
function endUncontendedBatches(lock: MemoryLockState, holds: readonly MemoryHold[], id: string): void {
  lock.endBatches(holds, (hold) => hold.alone === true && clientOf(hold.id) !== clientOf(id));
}
