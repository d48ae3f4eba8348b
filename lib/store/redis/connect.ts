import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { LockLogger } from '../../common/logger.js';
import { ClusterConnection, type ClusterAddress } from './cluster-connection.js';
import type { Connection, ConnectionObserver, ConnectionOptions } from './connection.js';
import { clusterAddressOf, isClient, isClusterClient, optionsOf } from './passed-client.js';
import { RedisConnection } from './redis-connection.js';

/** Where Redis is: one server (with or without Sentinels), or a Cluster. */
export type ConnectionTarget = string | RedisOptions | Redis | Cluster | ClusterAddress;

export interface ConnectOptions extends ConnectionOptions {
  readonly connection: ConnectionTarget;
}

/** Creates the connections of a client. Nothing is sent before they are opened. */
export function connect(
  { connection, ...options }: ConnectOptions,
  logger: LockLogger,
  observer: ConnectionObserver,
): Connection {
  if (isClient(connection)) {
    return new RedisConnection({ ...options, connection: optionsOf(connection) }, logger, observer);
  }
  if (!isClusterTarget(connection)) return new RedisConnection({ ...options, connection }, logger, observer);
  const address = isClusterClient(connection) ? clusterAddressOf(connection) : connection;
  return new ClusterConnection({ ...options, connection: address }, logger, observer);
}

/** A client of one server also has a `cluster` property: the command. */
export const isClusterTarget = (connection: ConnectionTarget): connection is Cluster | ClusterAddress =>
  typeof connection === 'object' && (isClusterClient(connection) || ('cluster' in connection && !isClient(connection)));
