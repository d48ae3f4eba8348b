import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisLockModuleOptions } from 'nestjs-redis-locks';
import { createLockClient } from 'nestjs-redis-locks/client';
import { ManualClock, type LockStoreHarness, type StoreTruth } from 'nestjs-redis-locks/testing';
import type { RedisConnectionOption } from '../../lib/module/redis-lock.connection.js';
import type { LockStore, LockStoreListener } from '../../lib/store/lock-store.js';
import { redisKeys } from '../../lib/keys/index.js';
import { MemoryBackend } from '../../lib/store/memory/memory-backend.js';
import { memoryStore } from '../../lib/store/memory/memory-store.js';
import { QuorumStore } from '../../lib/store/quorum/quorum-store.js';
import { redisson } from '../../lib/redisson/index.js';
import { RedissonStore } from '../../lib/redisson/redisson-store.js';
import { newClientId, RedisStore } from '../../lib/store/redis/redis-store.js';
import type { Cluster, Redis } from 'ioredis';
import { findRedis } from '../../scripts/lib/redis-installation.mjs';
import { withTestedClient } from '../../lab/testbed/locks/clients.js';
import { startRedisCluster, type RedisCluster } from '../../lab/testbed/servers/redis-cluster.mjs';
import { startRedis, type RedisServer } from '../../lab/testbed/servers/redis-server.mjs';

/** The module's default. */
const GRANT_TIMEOUT = 3_000;

const quiet = { debug() {}, log() {}, warn() {}, error() {} };
const realTime = { sleep: (ms: number) => sleep(ms, undefined), now: () => performance.now() };

/** Locks in memory, on a clock that stands still. */
export function memoryHarness(
  make: (backend: MemoryBackend) => LockStore = (backend) => memoryStore(backend),
): LockStoreHarness {
  const clock = new ManualClock();
  const backend = new MemoryBackend(clock);
  return {
    client: (options) => createLockClient({ ...options, store: () => make(backend) }, { clock, logger: quiet }),
    store: async () => {
      const store = make(backend);
      // A listener that is named later is notified as well.
      await store.start();
      return store;
    },
    truth: async (key) => {
      const { holds, waiters } = await memoryStore(backend).inspect(key);
      return { holds: holds.map(({ id, ttl }) => ({ id, left: ttl })), waiting: waiters.map(({ id }) => id) };
    },
    sleep: (ms) => clock.advance(ms),
    now: () => clock.now(),
    deliversOnce: true,
    stop: async () => undefined,
  };
}

/** A store whose calls, replies and messages are copied, as those of a store in another process are. */
export const copyingHarness = (): LockStoreHarness => memoryHarness((backend) => copying(memoryStore(backend)));

function copying<Part extends object>(store: Part): Part {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === 'listen') {
        return (listener: LockStoreListener) => (target as unknown as LockStore).listen(copying(listener));
      }
      if (typeof value === 'object' && value !== null) return copying(value);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(value, target, structuredClone(args));
        return result instanceof Promise ? result.then((reply) => structuredClone(reply)) : result;
      };
    },
  });
}

const COMMAND_TIMEOUT = 2_000;

/** One Redis, with locks as Redisson keeps them. */
export async function redissonHarness(): Promise<LockStoreHarness> {
  const redis = await startRedis();
  const { url: connection } = redis;
  const options = {
    connection,
    keyPrefix: 'lock',
    commandTimeout: COMMAND_TIMEOUT,
    renewedLease: 30_000,
    nameMapper: (key: string) => key,
  };
  return {
    ...realTime,
    client: (given) => client({ connection, protocol: redisson({ fenced: true }) }, given),
    store: () => started(new RedissonStore({ ...options, fenced: true }, quiet)),
    truth: async (key) => {
      const [fields, left] = await Promise.all([redis.admin.hgetall(key), redis.admin.pttl(key)]);
      return { holds: Object.keys(fields).map((id) => ({ id, left })), waiting: [] };
    },
    stop: () => redis.stop(),
  };
}

/** A Redis or a Cluster, with the protocol of this library. */
function harnessOf(redis: RedisServer | RedisCluster, where: Parameters<typeof withTestedClient>[0]): LockStoreHarness {
  const connection = withTestedClient(where) as RedisConnectionOption;
  return {
    ...realTime,
    client: (options) => client({ connection }, options),
    store: () => started(new RedisStore({ connection, keyPrefix: 'lock', commandTimeout: COMMAND_TIMEOUT }, quiet)),
    truth: (key) => redisTruth(redis.admin, key),
    stop: () => redis.stop(),
  };
}

export async function redisHarness(): Promise<LockStoreHarness> {
  const redis = await startRedis();
  return harnessOf(redis, redis.url);
}

/** A Cluster of three masters. */
export async function clusterHarness(): Promise<LockStoreHarness> {
  const redis = await startRedisCluster();
  const absenceNoticedAfter = (await hasShardedPubSub()) ? 0 : GRANT_TIMEOUT;
  return { ...harnessOf(redis, { cluster: redis.addresses }), absenceNoticedAfter };
}

/** Without it the listeners in a Cluster are unknown: docs/design.md, "Before Redis 7". */
async function hasShardedPubSub(): Promise<boolean> {
  const installation = await findRedis();
  return Number(installation?.version.split('.')[0]) >= 7;
}

/** Redlock over three servers: the answers of most of them. */
export async function redlockHarness(): Promise<LockStoreHarness> {
  const servers = await Promise.all([startRedis(), startRedis(), startRedis()]);
  const connection = servers.map(({ url }) => url);
  return {
    ...realTime,
    client: (options) => client({ connection }, options),
    store: () => {
      const clientId = newClientId();
      const shared = { keyPrefix: 'lock', commandTimeout: COMMAND_TIMEOUT, clientId };
      const members = connection.map((each) => new RedisStore({ connection: each, ...shared }, quiet));
      return started(new QuorumStore({ members, commandTimeout: COMMAND_TIMEOUT, logger: quiet }));
    },
    truth: async (key) => majority(await Promise.all(servers.map(({ admin }) => redisTruth(admin, key)))),
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

const client = (where: RedisLockModuleOptions, options: RedisLockModuleOptions) =>
  createLockClient({ commandTimeout: COMMAND_TIMEOUT, ...where, ...options }, { logger: quiet });

async function started<T extends { start(): Promise<void> }>(store: T): Promise<T> {
  await store.start();
  return store;
}

/** Read as an operator would, without any of our scripts. */
async function redisTruth(admin: Redis | Cluster, key: string): Promise<StoreTruth> {
  const { state, queue, waiters } = redisKeys('lock', key);
  const [holds, places, tickets, [seconds, micros]] = await Promise.all([
    admin.hgetall(state),
    admin.zrange(queue, 0, '-1'),
    admin.hgetall(waiters),
    admin.time(),
  ]);
  const now = Number(seconds) * 1_000 + Number(micros) / 1_000;
  const ends = (text: string): number => Number(text.split(' ')[2]);
  const staleAt = (text: string): number => Number(text.split(' ')[3]);
  return {
    holds: Object.entries(holds)
      .filter(([field]) => !field.startsWith('#'))
      .map(([field, text]) => ({ id: field.replace(/^\+/, ''), left: ends(text) - now }))
      .filter(({ left }) => left > 0),
    waiting: places.filter((id) => tickets[id] !== undefined && staleAt(tickets[id]) > now),
  };
}

function majority(truths: readonly StoreTruth[]): StoreTruth {
  const isMost = (count: number): boolean => count > truths.length / 2;
  const holds = new Map<string, number[]>();
  for (const { id, left } of truths.flatMap((truth) => truth.holds)) holds.set(id, [...(holds.get(id) ?? []), left]);
  const waiting = [...new Set(truths.flatMap((truth) => truth.waiting))];
  const place = (id: string): number => truths.map((truth) => truth.waiting.indexOf(id)).sort((a, b) => b - a)[1]!;
  return {
    holds: [...holds]
      .filter(([, lefts]) => isMost(lefts.length))
      .map(([id, lefts]) => ({ id, left: Math.min(...lefts) })),
    waiting: waiting
      .filter((id) => isMost(truths.filter((truth) => truth.waiting.includes(id)).length))
      .sort((a, b) => place(a) - place(b)),
  };
}
