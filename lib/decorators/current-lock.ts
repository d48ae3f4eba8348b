import { LockNotHeldError } from '../errors/index.js';
import { findInScope } from '../service/lock-scope.js';
import type { LockHandle } from '../service/handles/lock-handle.js';

/**
 * The lock that the running code holds through a locked method, a locked handler or `LockService.run`: the innermost lock,
 * or that of a key. No I/O. A task that outlives its method still gets the handle, whose `isHeld` is then `false`.
 *
 * ```ts
 * // The method is locked by DistributedLock('import:#{#date}').
 * async import(date: string) {
 *   const lock = currentLock();
 *   await copy(date, { signal: lock.signal });
 *   await lock.verify();   // right before the commit
 * }
 * ```
 * @throws LockNotHeldError outside of all of them; `findCurrentLock` returns `undefined` there
 */
export function currentLock(key?: string): LockHandle {
  const lock = findCurrentLock(key);
  if (lock !== undefined) return lock;
  throw new LockNotHeldError(
    `currentLock(${key === undefined ? '' : `'${key}'`}) was called by code that holds no ${key === undefined ? 'lock' : 'such lock'}: ` +
      'it runs outside of locked methods, locked handlers and LockService.run, or under a mock of LockService in a test. Call it ' +
      'inside of one of them, in tests with RedisLockTestingModule or LockTesting; or write findCurrentLock(), which may be undefined.',
    key === undefined ? {} : { key },
  );
}

/** Like `currentLock`, for code that also runs without a lock: `undefined` outside of locked methods, handlers and `run`. */
export const findCurrentLock = (key?: string): LockHandle | undefined =>
  findInScope((lock) => (key === undefined || lock.keys.includes(key) ? lock : undefined));
