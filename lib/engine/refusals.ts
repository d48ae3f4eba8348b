import { LockConfigError, LockStoreError, type LockError } from '../errors/index.js';
import type { AcquireReply, HoldMode, LockStore } from '../store/lock-store.js';

/** A reader that asks for the write lock would wait for itself. */
export const upgradeRefused = (key: string): LockConfigError =>
  new LockConfigError(
    `'${key}' is held for reading by the same owner, which would wait for itself: acquire the write lock from the start ` +
      '(its owner may read, too), or release the read lock first.',
    { key },
  );

/** The error of a request that the store will never grant, from its reply: `left`, `upgrade` or `too many`. */
export function refusedForever(key: string, mode: HoldMode, reply: AcquireReply): LockError {
  if (reply.outcome === 'upgrade') return upgradeRefused(key);
  if (reply.outcome !== 'too many') return new LockStoreError('the acquisition was already abandoned', { key });
  const { limit } = reply;
  const asked = mode.kind === 'permits' ? mode.units : 1;
  return new LockConfigError(
    `${asked} permits of '${key}' can never be granted, because there are only ${limit}: request at most ${limit}, or raise ` +
      'the number with setPermits.',
    { key },
  );
}

/** The store has no `permits`, or no `setLimit`. */
export const permitsFixed = (lacks: LockStore['lacks']): LockConfigError =>
  new LockConfigError(
    lacks?.permitChanges ??
      'this store cannot change permits that are in use, or drain them: give it `permits` and `setLimit`, or release and acquire all of them.',
  );

/** The error of a call whose grant arrived when its lease may have been over. */
export const repliedTooLate = (key: string, lease: number, transient = false): LockStoreError =>
  new LockStoreError(`Redis answered after the lease of '${key}' (${lease} ms) had ended`, {
    key,
    transient,
  });

/** An error of the store, for a caller of this key: that of the connection names none. */
export function aboutKey<E extends LockError>(key: string, error: E): E | LockStoreError {
  if (!(error instanceof LockStoreError) || error.key !== undefined) return error;
  const { message, cause, transient } = error;
  return new LockStoreError(message, { key, cause, transient });
}
