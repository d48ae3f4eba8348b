import { AsyncResource } from 'node:async_hooks';

const resource = new AsyncResource('RedisLock');

/**
 * Runs `work` in the async context in which this file was loaded: outside of the scopes of all locks. What the engine
 * does on its own account happens in the context of whoever happened to set a timer or send a command, and what it calls
 * there (observers, listeners) would re-enter locks that it has nothing to do with.
 */
export const outside = <T>(work: () => T): T => resource.runInAsyncScope(work);
