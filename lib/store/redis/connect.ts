import type { Cluster, Redis, RedisOptions, SentinelAddress } from 'ioredis';
import type { LockLogger } from '../../common/logger.js';
import { ClusterConnection, type ClusterAddress } from './cluster-connection.js';
import type { Connection, ConnectionObserver, ConnectionOptions } from './connection.js';
import { IoredisLines, type LineOptions } from './ioredis-lines.js';
import type { ServerAddress } from './line.js';
import { isNodeRedisClient, NodeRedisLines, type NodeRedisClient } from './node-redis-lines.js';
import { clusterAddressOf, isClient, isClusterClient, optionsOf } from './passed-client.js';
import { RedisConnection } from './redis-connection.js';
import type { SentinelOptions } from './sentinels.js';

/** Where Redis is: one server (with or without Sentinels), or a Cluster. */
export type ConnectionTarget = string | LineOptions | Redis | NodeRedisClient | Cluster | ClusterAddress;

export interface ConnectOptions extends ConnectionOptions {
  readonly connection: ConnectionTarget;
}

/** Creates the connections of a client. Nothing is sent before they are opened. */
export function connect(
  { connection, ...options }: ConnectOptions,
  logger: LockLogger,
  observer: ConnectionObserver,
): Connection {
  if (isClusterTarget(connection)) {
    const address = isClusterClient(connection) ? clusterAddressOf(connection) : connection;
    return new ClusterConnection({ ...options, connection: address }, logger, observer);
  }
  if (isNodeRedisClient(connection)) {
    return new RedisConnection({ ...options, lines: new NodeRedisLines(connection, options) }, logger, observer);
  }
  const target = isClient(connection) ? optionsOf(connection) : connection;
  const sentinels = sentinelsOf(target, options.commandTimeout);
  return new RedisConnection({ ...options, lines: new IoredisLines(target, options), sentinels }, logger, observer);
}

/** A client of one server also has a `cluster` property: the command. */
export const isClusterTarget = (connection: ConnectionTarget): connection is Cluster | ClusterAddress =>
  typeof connection === 'object' &&
  (isClusterClient(connection) || ('cluster' in connection && !isClient(connection) && !isNodeRedisClient(connection)));

/**
 * A Sentinel or an old master may be frozen or unreachable. Two seconds are enough to connect and to answer where the
 * master is. By default, ioredis waits for a Sentinel without a limit, and ten seconds for a connection.
 */
const PATIENCE = 2_000;
/** The largest number of Sentinels to subscribe to, unless the user's options set another. */
const MOST_SENTINELS = 10;

/** The Sentinels in the options of ioredis; `undefined` if there are none. If an option is missing, ioredis says which. */
function sentinelsOf(connection: string | RedisOptions, commandTimeout: number): SentinelOptions | undefined {
  if (typeof connection === 'string' || connection.Connector !== undefined) return undefined;
  const { sentinels, name, role = 'master', natMap, connectTimeout = PATIENCE } = connection;
  if (!sentinels?.length || !name || role !== 'master') return undefined;
  const { sentinelUsername, sentinelPassword, sentinelTLS, sentinelCommandTimeout: patience = PATIENCE } = connection;
  const options: RedisOptions = {
    ...(sentinelUsername && { username: sentinelUsername }),
    ...(sentinelPassword && { password: sentinelPassword }),
    ...(sentinelTLS && { tls: sentinelTLS, enableTLSForSentinelMode: true }),
    connectTimeout,
    socketTimeout: patience,
    enableReadyCheck: false,
    // RESP2: all versions of ioredis read its lists alike, unlike the maps of RESP3.
    protocol: 2,
  };
  const withDefaults = (sentinel: Partial<SentinelAddress>): ServerAddress => {
    const { host = '127.0.0.1', port = 26_379, family = connection.family } = sentinel;
    return { host, port, ...(family !== undefined && { family }) };
  };
  return {
    ...{ name, patience, sentinels: sentinels.map(withDefaults) },
    lines: new IoredisLines(options, { commandTimeout }),
    failoverDetector: connection.failoverDetector ?? true,
    updateSentinels: connection.updateSentinels !== false,
    most: connection.sentinelMaxConnections ?? MOST_SENTINELS,
    resolveNat: (address) => {
      const reported = `${address.host}:${address.port}`;
      const mapped = typeof natMap === 'function' ? natMap(reported) : natMap?.[reported];
      return mapped ? { ...address, ...mapped } : address;
    },
  };
}
