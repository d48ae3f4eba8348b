import { HEAD_RETRY_SLACK, PARKED_READ, RETRY_AFTER_EXPIRY } from '../protocol.generated.js';
import type { MemoryHold } from './memory-holds.js';
import { findHold, permitsOf, type MemoryLockState } from './memory-lock-state.js';
import { exceedsLimit, isClosed, reenters } from './memory-modes.js';
import { freeAt, type MemoryTicket } from './memory-queue.js';
import { clientOf } from './memory-server.js';

/** The result of granting waiters. */
interface Granted {
  /** The first ticket that only the holds block. */
  readonly head: MemoryTicket | undefined;
  /** The batch size of the asker's grant, if it was granted. */
  readonly batchSize: number;
}

/**
 * Grants the lock to the head of the queue, and to every further waiter that the holds admit, as
 * `lua/shared/grant-waiters.lua` does. Drops tickets that ask for more permits than exist. `asker` is known to be present,
 * and gets its grant as the reply instead of a message.
 */
export function grantWaiters(
  lock: MemoryLockState,
  holds: MemoryHold[],
  ended: readonly MemoryHold[],
  asker?: string,
): Granted {
  const { server, queue, limit } = lock;
  const { now } = server;
  lock.dropEnded(ended, asker);

  const canTakeGrant = presenceOf(lock, asker);
  const granted: Array<{ readonly hold: MemoryHold; readonly batchSize: number }> = [];
  const refused: string[] = [];
  const readers: MemoryHold[] = [];
  let batchSize = 1;
  let head: MemoryTicket | undefined;
  let ownersMayFollow = false;

  const grantTo = (ticket: MemoryTicket): void => {
    queue.drop(ticket.id);
    const pushed = ticket.id !== asker;
    const lease = pushed ? Math.min(ticket.lease, ticket.grantTimeout) : ticket.lease;
    const hold = lock.grant(holds, ticket, lease, pushed);
    const reserved = lock.batchSizeOf(hold);
    if (hold.mode.kind === 'read') readers.push(hold);
    if (pushed) granted.push({ hold, batchSize: reserved });
    else batchSize = reserved;
  };

  for (const ticket of queue.read(now)) {
    const { id } = ticket;
    if (ticket.staleAt <= now || findHold(holds, id) !== undefined) {
      queue.drop(id);
    } else if (exceedsLimit(ticket, limit.value)) {
      queue.drop(id);
      refused.push(id);
    } else if (head !== undefined && !reenters(holds, ticket)) {
      continue; // behind the head
    } else if (!lock.admits(holds, ticket) && (isClosed(holds) || canTakeGrant(id))) {
      head = ticket; // it blocks the tickets behind it
      // Another request of an owner that was just granted passes the queue: the first hold may wait for it.
      if (!ownersMayFollow) break;
    } else if (canTakeGrant(id)) {
      grantTo(ticket);
      ownersMayFollow ||= ticket.owner !== id;
    } else {
      queue.park(ticket); // the ticket keeps its place until it is stale: after a failover every client is absent for a moment
    }
  }

  // A client is passed over only in favour of other clients. A lock that no other client requests is granted to it.
  if (holds.length === 0 && head === undefined) {
    for (const ticket of queue.readParked(PARKED_READ)) {
      if (holds.length > 0 || ticket.staleAt <= now || !server.isPresent(ticket.id)) continue;
      if (lock.admits(holds, ticket)) grantTo(ticket);
    }
  }

  const singleGrants = queue.hasFair(now);
  // Other readers of these clients would join, and overtake the fair request.
  if (singleGrants) lock.tellToYield(readers);
  for (const { hold, batchSize: size } of granted) {
    const { id, token, ends, mode } = hold;
    const lease = ends - now;
    const grant = {
      key: lock.key,
      id,
      token,
      lease,
      time: now,
      batchSize: singleGrants ? 1 : size,
      ...permitsOf(mode),
    };
    server.tell(id, (client) => client.granted(grant));
  }
  // The reply to the retry says why.
  for (const id of refused) server.tell(id, (client) => client.retryAfter(id, 0));
  if (head !== undefined && head.id !== asker) hurryHead(lock, holds, head);
  return { head, batchSize: singleGrants ? 1 : batchSize };
}

/** Tells whether the client of an acquisition is subscribed and not passed over; looks once for each client. */
function presenceOf({ queue, server }: MemoryLockState, asker: string | undefined): (id: string) => boolean {
  const present = new Map<string, boolean>();
  return (id) => {
    const client = clientOf(id);
    if (!present.has(client)) {
      present.set(client, id === asker || (!queue.isPassedOver(client) && server.isPresent(id)));
    }
    return present.get(client) === true;
  };
}

/** Makes the head of the queue retry earlier, if the lease that blocks it ends earlier than the reply said. */
function hurryHead({ server }: MemoryLockState, holds: readonly MemoryHold[], head: MemoryTicket): void {
  const free = freeAt(holds, head);
  if (free === undefined || head.retryAt <= free + HEAD_RETRY_SLACK) return;
  head.retryAt = free + RETRY_AFTER_EXPIRY;
  const { id } = head;
  const delay = head.retryAt - server.now;
  server.tell(id, (client) => client.retryAfter(id, delay));
}
