import { AsyncLocalStorage } from 'node:async_hooks';
import type { OwnHandle } from './own-handle.js';

/**
 * The locks around a running method: what re-enters, and what `currentLock()` gives. A scope is only ever opened with
 * `run`, around a function: two calls that start in one tick would share one that is entered.
 */
interface LockScope {
  readonly lock: OwnHandle;
  readonly parent: LockScope | undefined;
}

/** Two loaded copies of the package see each other's scopes. */
const STORAGE = Symbol.for('nestjs-redis-locks:scope');
const shared = globalThis as { [STORAGE]?: AsyncLocalStorage<LockScope> };
const storage = (shared[STORAGE] ??= new AsyncLocalStorage<LockScope>());

/** Runs `work` within the scope of a lock. */
export function withinScope<T>(lock: OwnHandle, work: () => T): T {
  let parent = storage.getStore();
  // A task that starts itself again from within its own scope would otherwise keep every scope that it ever had.
  while (parent?.lock.isReleased) parent = parent.parent;
  return storage.run({ lock, parent }, work);
}

/** What `pick` finds first, from the innermost lock around the caller outwards. */
export function findInScope<T>(pick: (lock: OwnHandle) => T | undefined): T | undefined {
  for (let scope = storage.getStore(); scope !== undefined; scope = scope.parent) {
    const found = pick(scope.lock);
    if (found !== undefined) return found;
  }
  return undefined;
}
