import { lookup } from 'node:dns';
import type { Cluster, ClusterNode, ClusterOptions, Redis, RedisOptions } from 'ioredis';
import { hasMethods, isObject } from '../../common/type-guards.js';

/** Some of the nodes of a Redis Cluster, and the options that ioredis takes for it. */
export interface ClusterAddress {
  readonly cluster: readonly ClusterNode[];
  readonly options?: ClusterOptions;
}

/** Whether this is a client of one server, made by any copy of ioredis. A stub has no connector. */
export const isClient = (connection: unknown): connection is Redis =>
  hasMethods(connection, 'duplicate', 'sendCommand') &&
  isObject(connection['options']) &&
  isObject(connection['connector']);

/** Whether this is a client of a Cluster, made by any copy of ioredis. */
export const isClusterClient = (connection: unknown): connection is Cluster =>
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
export const optionsOf = ({ options }: Redis): RedisOptions => lent(options);

/** Like `optionsOf`, for a Cluster. */
export function clusterAddressOf(client: Cluster): ClusterAddress {
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
