import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';

/** Two copies of the package see each other's scopes. */
const STORAGE = Symbol.for('nestjs-redis-locks:scope');
const shared = globalThis as { [STORAGE]?: AsyncLocalStorage<unknown> };

/** Keeps the scopes of locks (`LockScope`). */
export const scopeStorage: AsyncLocalStorage<unknown> = (shared[STORAGE] ??= new AsyncLocalStorage<unknown>());

const resource = new AsyncResource('RedisLock');

/**
 * Runs `work` in the async context in which this file was loaded: outside the scopes of all locks. Otherwise the engine would
 * call observers and listeners in the context of the call that happened to set a timer or send a command, and they would
 * re-enter its locks by accident.
 */
export const outside = <T>(work: () => T): T => resource.runInAsyncScope(work);

/**
 * Returns a function that runs work in the async context of this call, such as that of a request, but outside the scopes of
 * all locks, so that the work re-enters none of them by accident.
 */
export function callerContext(): (work: () => void) => void {
  const caller = scopeStorage.run(undefined, () => new AsyncResource('RedisLock'));
  return (work) => caller.runInAsyncScope(work);
}
