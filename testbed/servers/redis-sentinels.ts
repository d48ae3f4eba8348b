import type { RedisOptions } from 'ioredis';
import { eventually } from '../wait/eventually.mjs';
import { startRedis, type RedisServer } from './redis-server.js';
import {
  askForFailover,
  MASTER_NAME,
  masterOf,
  REPLICATION_ARGS,
  sentinelConfig,
  untilFollowing,
  untilSentinelSeesAll,
} from './sentinel-nodes.mjs';

/** After how many ms without an answer a Sentinel takes a server for dead. */
const DOWN_AFTER = 600;

/** Starts a master, a replica and a Sentinel of the test's own; they end with `stop()`, or with this process. */
export async function startRedisSentinels(): Promise<RedisSentinels> {
  const master = await startRedis({ args: REPLICATION_ARGS });
  const replica = await startRedis({ args: [...REPLICATION_ARGS, '--replicaof', master.host, String(master.port)] });
  await untilFollowing(replica);
  const config = sentinelConfig(master, DOWN_AFTER);
  const sentinels = new RedisSentinels([master, replica], await startRedis({ config, args: ['--sentinel'] }));
  await sentinels.untilWhole();
  return sentinels;
}

/** A real Sentinel over two real servers, one of which is the master. */
export class RedisSentinels implements AsyncDisposable {
  constructor(
    readonly servers: readonly RedisServer[],
    readonly watcher: RedisServer,
  ) {}

  /** What `connection` takes. */
  get connection(): RedisOptions {
    const { host, port } = this.watcher;
    return { sentinels: [{ host, port }], name: MASTER_NAME };
  }

  /** Whom the Sentinel takes for the master. */
  master(): Promise<RedisServer> {
    return masterOf(this.watcher, this.servers);
  }

  /** Asks for a failover, as before maintenance. */
  async failover(): Promise<void> {
    const old = await this.master();
    await askForFailover(this.watcher);
    await this.untilMasterIsNot(old);
  }

  untilMasterIsNot(old: RedisServer): Promise<unknown> {
    return eventually(
      async () => {
        const master = await this.master();
        return master !== old && (await master.admin.info('replication')).includes('role:master');
      },
      { within: 20_000, every: 20, what: 'another master' },
    );
  }

  /** Resolves when the Sentinel sees a master and a replica that follows it. */
  untilWhole(): Promise<void> {
    return untilSentinelSeesAll(this.watcher, this.servers);
  }

  async stop(): Promise<void> {
    await Promise.all([this.watcher, ...this.servers].map((server) => server.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
