import { findInScope } from '../service/lock-scope.js';
import type { LockHandle } from '../service/handles/lock-handle.js';

/**
 * The lock that the running code holds through a locked method, a locked handler or `LockService.run`: the innermost lock,
 * or that of a key. `undefined` outside of all of them. No I/O. A task that outlives its method still gets the handle, whose
 * `isHeld` is then `false`.
 *
 * ```ts
 * // The method is locked by DistributedLock('import:#{#date}').
 * async import(date: string) {
 *   const lock = currentLock();
 *   await copy(date, { signal: lock?.signal });
 *   await lock?.verify();   // right before the commit
 * }
 * ```
 */
export const currentLock = (key?: string): LockHandle | undefined =>
  findInScope((lock) => (key === undefined || lock.keys.includes(key) ? lock : undefined));
