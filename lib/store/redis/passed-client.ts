import { lookup } from 'node:dns';
import type { ClusterNode, ClusterOptions, RedisOptions } from 'ioredis';
import { hasMethods, isObject } from '../../common/type-guards.js';

/** Some of the nodes of a Redis Cluster, and the options that ioredis takes for it. */
export interface ClusterAddress {
  readonly cluster: readonly ClusterNode[];
  readonly options?: ClusterOptions;
}

/** A client of ioredis for one server or for Sentinels. No class of ioredis, since that would be the class of one copy. */
export interface IoredisClient {
  readonly options: object;
  readonly stream: unknown;
  duplicate(...overrides: any[]): unknown;
  sendCommand(...args: any[]): unknown;
}

/** A client of ioredis for a Cluster. */
export interface IoredisCluster {
  readonly options: object;
  readonly slots: unknown;
  duplicate(...overrides: any[]): unknown;
  nodes(...args: any[]): unknown;
}

/** Whether this is a client of one server, made by any copy of ioredis. A stub has no connector. */
export const isClient = (connection: unknown): connection is IoredisClient =>
  hasMethods(connection, 'duplicate', 'sendCommand') &&
  isObject(connection['options']) &&
  isObject(connection['connector']);

/** Whether this is a client of a Cluster, made by any copy of ioredis. */
export const isClusterClient = (connection: unknown): connection is IoredisCluster =>
  hasMethods(connection, 'duplicate') &&
  connection['isCluster'] === true &&
  isObject(connection['options']) &&
  Array.isArray(connection['startupNodes']);

/**
 * How a client retries and times out. Its options do not show whether the application or ioredis has chosen these, so
 * the library uses its own.
 */
const OWN_CHOICE: ReadonlySet<string> = new Set([
  ...['retryStrategy', 'reconnectOnError', 'disconnectTimeout', 'maxLoadingRetryTime', 'socketTimeout'],
  ...['sentinelRetryStrategy', 'sentinelReconnectStrategy', 'failoverDetector'],
  ...['clusterRetryStrategy', 'clusterNodeRetryStrategy', 'maxRedirections', 'slotsRefreshTimeout'],
  ...['retryDelayOnFailover', 'retryDelayOnClusterDown', 'retryDelayOnTryAgain', 'retryDelayOnMoved'],
]);
/** What ioredis fills in and the library does better. */
const DEFAULTS: Readonly<Record<string, unknown>> = { keepAlive: 0, connectTimeout: 10_000, dnsLookup: lookup };

/**
 * The address, the login and other options of the connections that a client of the application would make. The library
 * makes its own with them, as `duplicate()` does: what the application does with its client has no effect on locks.
 */
export const optionsOf = ({ options }: IoredisClient): RedisOptions => lent(options);

/** Like `optionsOf`, for a Cluster. */
export function clusterAddressOf(client: IoredisCluster): ClusterAddress {
  const { startupNodes, options } = client as unknown as { startupNodes: ClusterNode[]; options: ClusterOptions };
  const { enableReadyCheck: _, redisOptions = {}, ...rest } = options;
  return { cluster: [...startupNodes], options: { ...lent(rest), redisOptions: lent(redisOptions) } };
}

function lent<Options extends object>(options: Options): Options {
  const entries = Object.entries(options).filter(
    ([name, value]) => value !== null && value !== undefined && !OWN_CHOICE.has(name) && DEFAULTS[name] !== value,
  );
  return Object.fromEntries(entries) as Options;
}
