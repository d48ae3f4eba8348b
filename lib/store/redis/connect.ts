import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { LockLogger } from '../../common/logger.js';
import { isCluster } from './cluster-client.js';
import { ClusterConnection, type ClusterAddress } from './cluster-connection.js';
import type { Connection, ConnectionObserver } from './connection.js';
import { RedisConnection } from './redis-connection.js';

/** Where Redis is: one server (with or without Sentinels), or a Cluster. */
export type ConnectionTarget = string | RedisOptions | Redis | Cluster | ClusterAddress;

export interface ConnectOptions {
  readonly connection: ConnectionTarget;
  readonly keyPrefix: string;
  readonly clientId: string;
  /** ms */
  readonly commandTimeout: number;
}

/** Creates the connections of a client. Nothing is sent before they are opened. */
export function connect(
  { connection, ...options }: ConnectOptions,
  logger: LockLogger,
  observer: ConnectionObserver,
): Connection {
  return isClusterGiven(connection)
    ? new ClusterConnection({ ...options, connection }, logger, observer)
    : new RedisConnection({ ...options, connection }, logger, observer);
}

/** A client of one server also has a `cluster` property: the command. */
const isClusterGiven = (connection: ConnectionTarget): connection is Cluster | ClusterAddress =>
  typeof connection === 'object' &&
  (isCluster(connection) || ('cluster' in connection && !('duplicate' in connection)));
