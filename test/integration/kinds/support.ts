import type { AcquireOptions, LockHandle } from 'nestjs-redis-locks';
import { type LockBench, holdIds, redisKey } from '../../../lab/testbed/locks/locks.js';

/** A promise that need not be awaited: it may end with the test. */
export function unawaited<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** The kinds of lock that let one in at a time. */
export const ALONE: ReadonlyArray<{ kind: string; options: AcquireOptions }> = [
  { kind: 'exclusive', options: {} },
  { kind: 'write', options: { kind: 'write' } },
  { kind: 'fair', options: { fair: true } },
  { kind: 'one permit', options: { permits: 1 } },
];

/** One kind of each. */
export const KINDS: ReadonlyArray<{ kind: string; options: AcquireOptions }> = [
  ...ALONE,
  { kind: 'read', options: { kind: 'read' } },
  { kind: 'one of two permits', options: { permits: 2 } },
];

/** What specs on shared holds ask the Redis of a bench. */
export const observe = (bench: LockBench) => ({
  /** How many scripts it has executed. */
  async scripts(): Promise<number> {
    const { evalsha = 0, eval: text = 0 } = await bench.redis.commandStats();
    return evalsha + text;
  },
  /** How many holds of a key it knows. */
  stored: async (key: string): Promise<number> => (await holdIds(bench.redis.admin, redisKey('state', key))).length,
});

export const releaseAll = (handles: readonly LockHandle[]): Promise<boolean[]> =>
  Promise.all(handles.map((handle) => handle.release()));
