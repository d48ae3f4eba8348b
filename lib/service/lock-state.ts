import type { LockHolder } from '../errors/lock-holder.js';

export type { LockHolder };

/** Whether a hold of this age, in ms, should have been renewed long ago. A hold that was just granted by a message is short. */
export const isOverdue = ({ kept, renewedLease, ttl }: LockHolder, age: number): boolean =>
  !kept && renewedLease !== undefined && ttl < renewedLease / 3 && age > (renewedLease * 2) / 3;

/** The state of a key in Redis, as `LockService.inspect` returns it. */
export interface LockState {
  readonly key: string;
  /**
   * The holds of the key; none while the key is handed from one holder to the next. Callers of one process may share a hold
   * in Redis (readers, permits): the list has each caller of this process, and one entry for those of another process.
   */
  readonly holders: readonly LockHolder[];
  /** The owner of the first hold. */
  readonly owner: string | undefined;
  /** How many holds there are. */
  readonly holds: number;
  /** ms until Redis frees the key if no lease is renewed; -2 if the key is not held. */
  readonly ttl: number;
  /**
   * The largest fencing token of the holds; without a hold, the last token that was reserved. If another process hands the
   * lock to its own waiters, the token of the first of them.
   */
  readonly fencingToken: number;
  /**
   * The tickets in the queue of Redis, in the order of arrival. The callers of one process share a ticket. They have none
   * while their process holds the lock and hands it from one of them to the next.
   */
  readonly waiters: readonly LockWaiter[];
  /** How many callers of this process wait for the key. The tickets of this process stand for some of them. */
  readonly waitingHere: number;
  /** How many permits a semaphore has: the number that `setPermits` has set, or else the largest that a caller names. */
  readonly permits: number | undefined;
}

/** One ticket in the queue of a key; it may stand for several local waiters of its client. */
export interface LockWaiter {
  readonly id: string;
  readonly owner: string;
  readonly kind: 'exclusive' | 'read' | 'permits';
  /** How many permits it requests; 0 if the lock is no semaphore. */
  readonly units: number;
  readonly client: string;
  /** As in {@link LockHolder}. */
  readonly label: string | undefined;
  readonly pattern: string | undefined;
  readonly method: string | undefined;
  readonly connected: boolean | undefined;
  /** When the ticket joined the queue, by the clock of the server. */
  readonly since: Date;
}
