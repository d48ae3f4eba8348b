import { once } from 'node:events';
import type { LockEvent } from '../../../lib/engine/lock-event.js';
import type { RedisLockModuleOptions } from '../../../lib/module/redis-lock.options.js';
import type { LockService } from '../../../lib/service/lock.service.js';
import { now } from '../history/history.js';
import { startRedis, type RedisServer } from '../servers/redis-server.mjs';
import { RespProxy } from '../proxies/resp-proxy.mjs';
import { timed } from '../wait/timed.mjs';
import { redisKey } from './redis-key.mjs';
import { Bench, resumeAll } from './bench.js';

export { timed };

/**
 * How long something may take that happens at once, on a machine that is busy with other tests: less than the 3 s after
 * which a waiter asks by itself, and less than a lease of 30 s.
 */
export const AT_ONCE = 1_500;

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

  /** The waiters of a key, as Redis sees them. */
  async waiters(key: string): Promise<string[]> {
    return this.redis.admin.zrange(redisKey('queue', key), 0, '-1');
  }
}

/** The same, which records the events of all services. */
export class FaultBench extends LockBench {
  readonly events: LockEvent[] = [];

  override make(options?: RedisLockModuleOptions): LockService {
    const service = super.make(options);
    service.events.subscribe((event) => this.events.push(event));
    return service;
  }

  /** Events of one type so far. */
  told<T extends LockEvent['type']>(type: T): Array<Extract<LockEvent, { type: T }>> {
    return this.events.filter((event): event is Extract<LockEvent, { type: T }> => event.type === type);
  }

  protected override flush(): Promise<unknown> {
    this.events.length = 0;
    return super.flush();
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
