import { afterEach, beforeEach } from '@jest/globals';
import { eventually } from '../wait/eventually.mjs';
import { RespProxy } from '../proxies/resp-proxy.mjs';
import { startRedisSentinels, type RedisSentinels, type RedisSentinelsOptions } from '../servers/redis-sentinels.mjs';
import { startRedis, type RedisServer } from '../servers/redis-server.mjs';
import type { FaultLocks } from './fault-locks.js';

/** Starts servers for each test, and ends them after it by what `start` returns. Services of `locks` end before that. */
function forEachTest(locks: FaultLocks, start: () => Promise<() => Promise<unknown>>, resume?: () => unknown): void {
  let stop: () => Promise<unknown>;
  beforeEach(async () => {
    stop = await start();
  });
  afterEach(async () => {
    await resume?.();
    await locks.closeAll();
    await stop();
  });
}

/** Starts a Redis for each test. Services of `locks` end after it. */
export const useRedisForEach = (locks: FaultLocks, use: (redis: RedisServer) => void): void =>
  forEachTest(locks, async () => {
    const redis = await startRedis();
    use(redis);
    return () => redis.stop();
  });

/**
 * Starts a master, its replica and Sentinels for each test: Sentinels remember failovers, and are in no hurry with the next
 * one.
 */
export function useSentinels(
  locks: FaultLocks,
  use: (sentinels: RedisSentinels) => void,
  options?: RedisSentinelsOptions,
): void {
  let started: RedisSentinels;
  const start = async () => {
    started = await startRedisSentinels(options);
    use(started);
    return () => started.stop();
  };
  forEachTest(locks, start, () => {
    const servers = [...started.servers, ...started.sentinels].filter(({ isRunning }) => isRunning);
    return Promise.all(servers.map((server) => server.resume()));
  });
}

/** The same with three Sentinels, which agree on a dead server after `downAfter` ms. */
export const useSentinelTrio = (locks: FaultLocks, downAfter: number, use: (trio: RedisSentinels) => void): void =>
  useSentinels(locks, use, { sentinels: 3, downAfter, failoverTimeout: 3_000 });

/** Starts a replica of a master. Resolves when it has all that has been written so far. */
export async function startReplica(master: RedisServer): Promise<RedisServer> {
  const replica = await startRedis({ args: ['--replicaof', master.host, String(master.port)] });
  await untilFollowing(master);
  return replica;
}

/** Resolves when the replica of a master has all that has been written so far. */
export async function untilFollowing(master: RedisServer): Promise<void> {
  await eventually(async () => (await master.admin.info('replication')).includes('state=online'), {
    within: 15_000,
    what: 'a replica that follows',
  });
  await master.admin.set('probe', '', 'PX', 1);
  await master.replicated();
}

/**
 * Starts a master, a replica and a proxy before the master for each test: an address that leads to the current master.
 * Existing connections stay where they are. Services of `locks` end after the test.
 */
export const useReplica = (
  locks: FaultLocks,
  use: (master: RedisServer, replica: RedisServer, address: RespProxy) => void,
): void =>
  forEachTest(locks, async () => {
    const master = await startRedis();
    const replica = await startReplica(master);
    const address = await RespProxy.start(master);
    use(master, replica, address);
    return async () => {
      await address.close();
      await Promise.all([master.stop(), replica.stop()]);
    };
  });
