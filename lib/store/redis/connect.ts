import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { LockLogger } from '../../common/logger.js';
import { isCluster } from './cluster-client.js';
import { ClusterConnection, type ClusterAddress } from './cluster-connection.js';
import type { Connection, ConnectionObserver, ConnectionOptions } from './connection.js';
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
  return isClusterTarget(connection)
    ? new ClusterConnection({ ...options, connection }, logger, observer)
    : new RedisConnection({ ...options, connection }, logger, observer);
}

/** A client of one server also has a `cluster` property: the command. */
export const isClusterTarget = (connection: ConnectionTarget): connection is Cluster | ClusterAddress =>
  typeof connection === 'object' &&
  (isCluster(connection) || ('cluster' in connection && !('duplicate' in connection)));
