import { AsyncResource } from 'node:async_hooks';

const resource = new AsyncResource('RedisLock');

/**
 * Runs `work` in the async context in which this file was loaded: outside the scopes of all locks. Otherwise the engine would
 * call observers and listeners in the context of the call that happened to set a timer or send a command, and they would
 * re-enter its locks by accident.
 */
export const outside = <T>(work: () => T): T => resource.runInAsyncScope(work);
