import { lookup, resolveSrv } from 'node:dns';
import { promisify } from 'node:util';
import { Redis, type ClusterNode, type ClusterOptions, type RedisOptions, type SentinelAddress } from 'ioredis';
import {
  isNodeRedisClient,
  isNodeRedisCluster,
  isNodeRedisSentinel,
  type NodeRedisClient,
  type NodeRedisCluster,
  type NodeRedisSentinel,
} from '../../node-redis/clients.js';
import { nodeRedisCluster, NodeRedisLines } from '../../node-redis/lines.js';
import { NodeRedisMaster } from '../../node-redis/sentinel.js';
import { ClusterNodes } from './cluster-nodes.js';
import type { ConnectionOptions } from './connection.js';
import { mappedBy, type OwnClientOptions } from './connection-options.js';
import { IoredisLines, type LineOptions } from './ioredis-lines.js';
import type { Lines, ServerAddress } from './line.js';
import { OneServer } from './one-server.js';
import {
  clusterAddressOf,
  isClient,
  isClusterClient,
  optionsOf,
  type ClusterAddress,
  type IoredisClient,
  type IoredisCluster,
} from './passed-client.js';
import { Sentinels } from './sentinels.js';
import type { ClusterTarget, MasterFinder, Servers, ServersObserver } from './servers.js';

/** A client of one server or of Sentinels, which the application passes in. */
export type OneClient = IoredisClient | NodeRedisClient | NodeRedisSentinel;

/** A client of a Cluster, which the application passes in. */
export type ClusterClient = IoredisCluster | NodeRedisCluster;

/** Where Redis is: one server (with or without Sentinels), or a Cluster. */
export type ConnectionTarget = string | LineOptions | OneClient | ClusterAddress | ClusterClient;

/** Whether this is a client of one server or of Sentinels, of ioredis or node-redis. */
export const isOneClient = (value: unknown): value is OneClient =>
  isClient(value) || isNodeRedisClient(value) || isNodeRedisSentinel(value);

/** Whether this is a client of a Cluster, of ioredis or node-redis. */
export const isClusterOfClient = (value: unknown): value is ClusterClient =>
  isClusterClient(value) || isNodeRedisCluster(value);

export interface ConnectOptions extends ConnectionOptions {
  readonly connection: ConnectionTarget;
}

/** Creates what knows the servers. Nothing is sent before they are opened. */
export function serversOf({ connection, ...options }: ConnectOptions, observer: ServersObserver): Servers {
  if (isClusterTarget(connection)) {
    const target = isNodeRedisCluster(connection)
      ? nodeRedisCluster(connection, options)
      : clusterOf(isClusterClient(connection) ? clusterAddressOf(connection) : connection, options);
    return new ClusterNodes(target, options.commandTimeout, observer);
  }
  const oneServer = (lines: Lines, sentinels?: MasterFinder): Servers =>
    new OneServer(lines, sentinels, options.keyPrefix, observer);
  if (isNodeRedisClient(connection)) return oneServer(new NodeRedisLines(connection, options));
  if (isNodeRedisSentinel(connection)) {
    const master = new NodeRedisMaster(connection, options);
    return oneServer(master, master);
  }
  const target = isClient(connection) ? optionsOf(connection) : connection;
  return oneServer(new IoredisLines(target, options), sentinelsOf(target, options.commandTimeout));
}

/** A client of one server also has a `cluster` property: the command. */
export const isClusterTarget = (connection: ConnectionTarget): connection is ClusterAddress | ClusterClient =>
  isClusterOfClient(connection) ||
  (typeof connection === 'object' && 'cluster' in connection && !isOneClient(connection));

/**
 * A Sentinel or an old master may be frozen or unreachable. Two seconds are enough to connect and to answer where the
 * master is. By default, ioredis waits for a Sentinel without a limit, and ten seconds for a connection.
 */
const PATIENCE = 2_000;

/** The Sentinels in the options of ioredis; `undefined` if there are none. If an option is missing, ioredis says which. */
function sentinelsOf(connection: string | RedisOptions, commandTimeout: number): Sentinels | undefined {
  if (typeof connection === 'string' || connection.Connector !== undefined) return undefined;
  const { sentinels, name, role = 'master', connectTimeout = PATIENCE } = connection;
  if (!sentinels?.length || !name || role !== 'master') return undefined;
  const { sentinelUsername, sentinelPassword, sentinelTLS, sentinelCommandTimeout: patience = PATIENCE } = connection;
  const options: RedisOptions = {
    ...(sentinelUsername && { username: sentinelUsername }),
    ...(sentinelPassword && { password: sentinelPassword }),
    ...(sentinelTLS && { tls: sentinelTLS }),
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
  const lines = new IoredisLines(options, { commandTimeout });
  return new Sentinels(lines, { ...connection, name, patience, sentinels: sentinels.map(withDefaults) });
}

/** The Cluster that options of ioredis describe. */
function clusterOf({ cluster, options = {} }: ClusterAddress, own: OwnClientOptions): ClusterTarget {
  return {
    // A Cluster has database 0 only.
    lines: new IoredisLines({ ...options.redisOptions, db: 0 }, own),
    named: async () => (await Promise.all(cluster.map((node) => located(node, options)))).flat(),
    resolveNat: mappedBy(options.natMap),
  };
}

/** Where a node is that the user named. Options that it has of its own are for this node only. */
async function located(node: ClusterNode, options: ClusterOptions): Promise<ServerAddress[]> {
  const { host = '127.0.0.1', port = 6_379, ...rest } = typeof node === 'object' ? node : parsed(node);
  if (options.useSRVRecords) {
    const records = await promisify(options.resolveSrv ?? resolveSrv)(host);
    return (records ?? []).map(({ name, port }) => ({ ...rest, host: name, port }));
  }
  // Node itself looks names up, unless the user does.
  const found = options.dnsLookup && options.dnsLookup !== lookup ? await promisify(options.dnsLookup)(host) : host;
  return [{ ...rest, host: found ?? host, port: Number(port) }];
}

/** The parts of a URL, as ioredis reads them. */
function parsed(node: string | number): RedisOptions {
  const { options } = new Redis(String(node), { lazyConnect: true });
  const { host, port, username, password, tls } = options;
  const written = Object.entries({ host, port, username, password, tls });
  return Object.fromEntries(written.filter(([, value]) => value !== undefined && value !== null));
}
