import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';

/** Two copies of the package see each other's scopes. */
const STORAGE = Symbol.for('nestjs-redis-locks:scope');
const shared = globalThis as { [STORAGE]?: AsyncLocalStorage<unknown> };

/** Keeps the scopes of locks (`LockScope`). */
export const scopeStorage: AsyncLocalStorage<unknown> = (shared[STORAGE] ??= new AsyncLocalStorage<unknown>());

/**
 * Returns a function that runs work in the async context of this call, such as that of a request, but outside the scopes of
 * all locks, so that the work re-enters none of them by accident.
 */
export function callerContext(): (work: () => void) => void {
  const resource = scopeStorage.run(undefined, () => new AsyncResource('RedisLock'));
  return (work) => resource.runInAsyncScope(work);
}
