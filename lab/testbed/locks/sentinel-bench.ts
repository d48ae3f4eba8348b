import { startRedisSentinels, type RedisSentinels, type RedisSentinelsOptions } from '../servers/redis-sentinels.mjs';
import type { RedisServer } from '../servers/redis-server.mjs';
import { Bench, type BenchTerms } from './bench.js';

/** Three Sentinels, which agree on a dead server after `downAfter` ms. */
export const trio = (downAfter: number): RedisSentinelsOptions => ({ sentinels: 3, downAfter, failoverTimeout: 3_000 });

/**
 * A master, its replica and Sentinels for each test: Sentinels remember failovers, and are in no hurry with the next
 * one.
 */
export class SentinelBench extends Bench {
  sentinels!: RedisSentinels;

  constructor(
    private readonly options?: RedisSentinelsOptions,
    terms?: BenchTerms,
  ) {
    super({ ...terms, each: true });
  }

  protected get servers(): readonly RedisServer[] {
    return this.sentinels.servers.filter(({ isRunning }) => isRunning);
  }

  protected get connection() {
    return this.sentinels.connection;
  }

  protected async start(): Promise<void> {
    this.sentinels = await startRedisSentinels(this.options);
  }

  protected resume(): Promise<unknown> {
    const running = [...this.servers, ...this.sentinels.sentinels.filter(({ isRunning }) => isRunning)];
    return Promise.all(running.map((server) => server.resume()));
  }

  protected async flush(): Promise<void> {}

  protected stop(): Promise<unknown> {
    return this.sentinels.stop();
  }
}
