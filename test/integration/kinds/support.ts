import type { LockService } from 'nestjs-redis-locks';
import type { AcquireOptions } from '../../../lib/options/acquire-options.js';
import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import type { LockBench } from '../../../lab/testbed/locks/locks.js';
import { holdIds, redisKey } from '../../../lab/testbed/locks/redis-key.mjs';

/** The waiters of a key, and the order in which they are granted. */
export class Arrivals {
  /** Names, in the order in which they were served. */
  readonly served: string[] = [];
  private readonly visits: Array<Promise<LockHandle>> = [];

  constructor(
    private readonly bench: LockBench,
    private readonly key: string,
  ) {}

  /** A caller asks for the key, and stands in the queue in Redis when this resolves. It keeps the lock that it gets. */
  async queue(service: LockService, name: string, options: AcquireOptions): Promise<[Promise<LockHandle>]> {
    const before = (await this.bench.waiters(this.key)).length;
    const visit = this.enter(service, name, options);
    await this.bench.untilWaiting(this.key, before + 1);
    return [visit];
  }

  /** A caller asks for the key. */
  enter(service: LockService, name: string, options: AcquireOptions): Promise<LockHandle> {
    const visit = service.acquire(this.key, { waitTimeout: Infinity, ...options }).then((handle) => {
      this.served.push(name);
      return handle;
    });
    this.visits.push(unawaited(visit));
    return visit;
  }

  all(): Promise<LockHandle[]> {
    return Promise.all(this.visits);
  }
}

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
