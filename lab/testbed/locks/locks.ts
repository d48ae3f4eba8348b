import { once } from 'node:events';
import { expect } from '@jest/globals';
import type { LockEvent } from '../../../lib/engine/lock-event.js';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import type { LockHandle } from '../../../lib/service/handles/lock-handle.js';
import type { LockService } from '../../../lib/service/lock.service.js';
import { now } from '../history/history.js';
import { startRedis, type RedisServer } from '../servers/redis-server.mjs';
import { RespProxy } from '../proxies/resp-proxy.mjs';
import { deferred, type Deferred } from '../wait/deferred.js';
import { eventually, eventuallyPasses, throughout } from '../wait/eventually.mjs';
import { timed } from '../wait/timed.mjs';
import { lockError } from './lock-error.js';
import { holdIds, redisKey } from './redis-key.mjs';
import { Bench, resumeAll } from './bench.js';

// What most tests with locks need.
export { deferred, eventually, eventuallyPasses, holdIds, lockError, redisKey, throughout, timed, type Deferred };
export { now, RespProxy, startRedis, type RedisServer };

/**
 * How long something may take that happens at once, on a machine that is busy with other tests: less than the 3 s after
 * which a waiter asks by itself, and less than a lease of 30 s.
 */
export const AT_ONCE = 1_500;

/** ms. With leases of 20 s and more waiters ask by themselves after 3 s at the earliest: anything sooner came by other means. */
export const SOON = 2_500;

/** A logger that writes nothing. */
export const SILENT = { debug() {}, log() {}, warn() {}, error() {} };

/** A Redis for the tests of a file. */
export class LockBench extends Bench {
  redis!: RedisServer;

  protected get servers(): readonly RedisServer[] {
    return [this.redis];
  }

  protected get connection(): string {
    return this.redis.url;
  }

  protected async start(): Promise<void> {
    this.redis = await startRedis();
  }

  protected resume(): Promise<unknown> {
    return resumeAll([this.redis]);
  }

  protected flush(): Promise<unknown> {
    return this.redis.admin.flushall();
  }

  protected stop(): Promise<unknown> {
    return this.redis.stop();
  }

  /** A proxy before the server. */
  async proxy(): Promise<RespProxy> {
    return this.endLater(await RespProxy.start(this.redis));
  }

  /** A proxy before the server, and a started service behind it. */
  async proxied(options?: RedisLockModuleOptions): Promise<{ proxy: RespProxy; service: LockService }> {
    const proxy = await this.proxy();
    return { proxy, service: await this.service({ connection: proxy.url, ...options }) };
  }

  /** The address of the server with the login of a user who lacks these rights of ACL rules. */
  async userWith(...rules: string[]): Promise<string> {
    await this.redis.admin.acl('SETUSER', 'weak', 'on', '>secret', '~*', '&*', '+@all', ...rules);
    return this.redis.url.replace('//', '//weak:secret@');
  }

  /** The messages on these channels from now on, as `<channel> <message>`. */
  async messages(...channels: string[]): Promise<string[]> {
    const subscriber = this.redis.admin.duplicate();
    this.endLater({ [Symbol.asyncDispose]: async () => subscriber.disconnect() });
    const heard: string[] = [];
    subscriber.on('message', (channel, message) => heard.push(`${channel} ${message}`));
    await subscriber.subscribe(...channels);
    return heard;
  }

  /** How often Redis has executed a command since its statistics were reset. */
  async calls(command = 'evalsha'): Promise<number> {
    return (await this.redis.commandStats())[command] ?? 0;
  }

  /** How many connections are subscribed to a channel. */
  async subscribers(channel: string): Promise<number> {
    return Number((await this.redis.admin.pubsub('NUMSUB', channel))[1]);
  }

  /** Resolves when no caller holds a key any more. */
  untilFree(key: string): Promise<unknown> {
    return eventually(async () => (await this.redis.admin.exists(redisKey('state', key))) === 0, { within: 10_000 });
  }

  /** The waiters of a key, as Redis sees them. */
  async waiters(key: string): Promise<string[]> {
    return this.redis.admin.zrange(redisKey('queue', key), 0, '-1');
  }
}

/** Milliseconds from one moment to another one, by `now()`. */
export const between = (from: number, to = now()): number => to - from;

/** Resolves when a signal aborts, to its reason. */
export async function aborted(signal: AbortSignal): Promise<unknown> {
  if (!signal.aborted) await once(signal, 'abort');
  return signal.reason;
}

/** Collects the events of a service. */
export function record(service: LockService): LockEvent[] {
  const events: LockEvent[] = [];
  service.events.subscribe((event) => events.push(event));
  return events;
}

/** `[x, 1]` … `[x, count]`, made one after the other. */
export async function inTurn<T>(count: number, make: (i: number) => Promise<T> | T): Promise<T[]> {
  const made: T[] = [];
  for (let i = 0; i < count; i++) made.push(await make(i));
  return made;
}

/** Expects that something ends a wait at once, and resolves to the result of the wait. */
export async function endAtOnce<T>(waiting: Promise<T>, happen: () => Promise<unknown>, soon = AT_ONCE): Promise<T> {
  const { ran, error } = await timed(() => happen().then(() => waiting));
  expect(error).toBeUndefined();
  expect(ran).toBeLessThan(soon);
  return waiting;
}

/** Acquires a key, however long that takes during a fault, and releases it. */
export async function useOf(service: LockService, key: string): Promise<void> {
  await (await service.acquire(key, { waitTimeout: '60s' })).release();
}

/** Releases a lock, and expects that its waiter gets it within `soon` ms, with a larger token. Then releases that, too. */
export async function expectHandoff(lock: LockHandle, waiting: Promise<LockHandle>, soon = Infinity): Promise<void> {
  const since = performance.now();
  expect(await lock.release()).toBe(true);
  const next = await waiting;
  expect(performance.now() - since).toBeLessThan(soon);
  expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
  expect(await next.release()).toBe(true);
}

/** Resolves when `signal` aborts, to when that was. */
export async function abortOf(signal: AbortSignal): Promise<number> {
  await aborted(signal);
  return performance.now();
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
