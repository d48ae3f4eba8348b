import { once } from 'node:events';
import { expect } from '@jest/globals';
import type { LockEvent } from '../../../lib/engine/lock-event.js';
import type { LockService } from '../../../lib/service/lock.service.js';
import type { LockConnectionOption } from '../../../lib/module/redis-lock.connection.js';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import { EXPIRES, keysWithTtl as keysOf } from '../history/leaks.mjs';
import { eventually, eventuallyPasses } from '../wait/eventually.mjs';
import { timed } from '../wait/timed.mjs';
import { LockServices, type LogLine } from './lock-services.js';
import { redisKey } from './redis-key.mjs';
import type { RedisServer } from '../servers/redis-server.mjs';
import { started } from '../wait/started.mjs';

export { redisKey, timed, type LogLine };

type ServiceOptions = Omit<RedisLockModuleOptions, 'connection'>;

/** The services of a test on any servers, their logs and their events. They end with `closeAll()`. */
export class FaultLocks {
  readonly events: LockEvent[] = [];
  private readonly services = new LockServices();

  get lines(): readonly LogLine[] {
    return this.services.lines;
  }

  /** A service that has not been started. It does not wait for holders when it is closed, unless the test says so. */
  make(connection: LockConnectionOption, options: ServiceOptions = {}): LockService {
    const service = this.services.make({ ...options, connection });
    service.events.subscribe((event) => this.events.push(event));
    return service;
  }

  async start(connection: LockConnectionOption, options: ServiceOptions = {}): Promise<LockService> {
    return started(this.make(connection, options));
  }

  /** Events of one type so far. */
  told<T extends LockEvent['type']>(type: T): Array<Extract<LockEvent, { type: T }>> {
    return this.events.filter((event): event is Extract<LockEvent, { type: T }> => event.type === type);
  }

  async closeAll(): Promise<void> {
    await this.services.closeAll();
    this.events.length = 0;
  }
}

/** Resolves when `signal` aborts, to when that was. */
export async function abortOf(signal: AbortSignal): Promise<number> {
  if (!signal.aborted) await once(signal, 'abort');
  return performance.now();
}

/** Every key in the server, with its TTL in ms. */
export const keysWithTtl = ({ admin }: RedisServer) => keysOf(admin);

/**
 * The longest time that the note of an acquisition that left is kept: twice the default `commandTimeout`, and a little.
 */
const LONGEST_NOTE = 10_100;

/** Waits until nothing is left in the server except entries that expire by themselves. */
export function nothingLeftBehind(redis: RedisServer, within = 10_000): Promise<void> {
  return eventuallyPasses(
    async () => {
      const left = await keysWithTtl(redis);
      expect(left.filter(({ key }) => !EXPIRES.test(key))).toEqual([]);
      expect(left.filter(({ ttl }) => ttl <= 0)).toEqual([]);
      expect(left.filter(({ key, ttl }) => key.includes(':tombstones:') && ttl > LONGEST_NOTE)).toEqual([]);
    },
    { within, every: 20 },
  );
}

/**
 * The earliest moment, by `performance.now()`, at which the lease of a key may end if it is not renewed: the latest
 * that several answers give, since each one is too early by the time that its question was on the way.
 */
export async function leaseEnd(redis: RedisServer, key: string): Promise<number> {
  let end = -Infinity;
  for (let looks = 0; looks < 10; looks++) {
    const sent = performance.now();
    end = Math.max(end, sent + (await redis.admin.pttl(redisKey('state', key))));
  }
  return end;
}

/** Blocks the event loop, as a long computation would, and leaves the processor to the other tests. */
export function blockEventLoop(ms: number): void {
  const until = performance.now() + ms;
  for (let left = ms; left > 0; left = until - performance.now()) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, left);
  }
}

/** Resolves when no caller holds a key any more. */
export const untilFree = (redis: RedisServer, key: string): Promise<unknown> =>
  eventually(async () => (await redis.admin.exists(redisKey('state', key))) === 0, { within: 10_000 });

/** Acquires a key, however long that takes during a fault, and releases it. */
export async function useOf(service: LockService, key: string): Promise<void> {
  await (await service.acquire(key, { waitTimeout: '60s' })).release();
}
