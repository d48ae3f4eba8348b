import type { LockStore } from '../store/lock-store.js';

const ELSEWHERE =
  'use an instance of RedisLockModule without a protocol for it, or Redisson alone until all services have moved.';

/** What Redisson's protocol cannot express, or this version does not speak: the messages of the errors. */
export const LACKING_FEATURES: NonNullable<LockStore['lacks']> = {
  owner:
    "The protocol 'redisson' takes no owner: each acquisition has a thread id of its own, so that a command that arrives " +
    'twice counts once. Re-enter inside run() or a decorated method, without owner.',
  handover: `The protocol 'redisson' cannot hand a lock to another process: for handOver and adopt ${ELSEWHERE}`,
  holdAtLeast:
    "The protocol 'redisson' cannot keep a key taken after its release (holdAtLeast): waiters of Redisson would sleep until " +
    'the end of the lease that they have seen. Leave holdAtLeast out, or release the lock later.',
  replicas: "The protocol 'redisson' does not wait for replicas: leave replicas out.",
  latchExpire:
    "A latch of the protocol 'redisson' has no expire: waiters of Redisson would not learn of its end. Leave expire out.",
  latchDelete:
    "The protocol 'redisson' does not delete a latch: Redisson takes a latch that is gone for open. Count it down with countDown.",
  permitChanges:
    "The protocol 'redisson' does not change the permits of a semaphore (setPermits, addPermits, drainPermits), because Redisson " +
    'does not count the permits that an RSemaphore has taken: call these methods in Redisson. It does not release some of the ' +
    'permits of a handle: acquire those with a handle of their own.',
  list:
    "Locks of the protocol 'redisson' cannot be listed: their names have no prefix that tells them from other hashes. " +
    'Name the key: inspect(key).',
};

/** Why a read lock cannot be asked for so long. */
export const readLeaseTooLong = (lease: number, longest: number): string =>
  `A read lock of the protocol 'redisson' has a lease of at most renewedLease (${longest} ms), and ${lease} ms were asked for: ` +
  'a reader of Redisson that renews the lock sets the lease of all readers to its own. Leave expire out, so that the watchdog renews the lock.';

/** `RReadWriteLock`, `RFencedLock` and semaphores have no fair kind. */
export const FAIR_IS_PLAIN =
  "With the protocol 'redisson', fair: true is an RFairLock, an exclusive lock without fencing tokens: leave type out, and " +
  'fenced: true for this instance.';

/** Sharded and plain pub/sub do not hear each other. */
export const unheardWarning = (channel: string, isSharded: boolean): string => {
  const [ours, theirs] = isSharded ? ['sharded', 'plain'] : ['plain', 'sharded'];
  return (
    `protocol 'redisson': clients wait on the ${theirs} channel '${channel}', and this client publishes on ${ours} channels, so that ` +
    'its releases do not wake them. Write the same shardedSubscriptionMode in redisson() and in ClusterServersConfig of all ' +
    "Redisson clients. With 'auto', a Redis user without the right to PUBSUB SHARDNUMSUB gets plain channels."
  );
};
