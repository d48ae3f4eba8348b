import type { RedisOptions } from 'ioredis';
import { createClient, createCluster } from 'redis';
import type { LockConnectionOption } from '../../../lib/module/redis-lock.connection.js';
import type { ServerAddress } from '../../../lib/store/redis/line.js';
import type { ClusterAddress } from '../../../lib/store/redis/passed-client.js';

/** The client with which tests connect, as `npm run test:clients` sets it. */
const isNodeRedis = process.env['LOCKS_TEST_CLIENT'] === 'node-redis';

/** Makes a connection with the client that is being tested: addresses become clients of node-redis. */
export function withTestedClient(connection: LockConnectionOption | undefined): LockConnectionOption | undefined {
  if (!isNodeRedis) return connection;
  if (typeof connection === 'string') return createClient({ url: connection });
  if (Array.isArray(connection)) return connection.map((each) => withTestedClient(each)) as LockConnectionOption;
  if (connection === undefined) return connection;
  if (isClusterAddress(connection)) return clusterOf(connection);
  if (!isAddress(connection)) return connection;
  const { host, port, username, password, db } = connection;
  return createClient({
    socket: { host: host ?? '127.0.0.1', port: port ?? 6379 },
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(db !== undefined && { database: db }),
  });
}

const isAddress = (connection: LockConnectionOption): connection is RedisOptions =>
  Object.keys(connection).every((name) => ['host', 'port', 'username', 'password', 'db'].includes(name));

const isClusterAddress = (connection: object): connection is ClusterAddress =>
  'cluster' in connection && Array.isArray(connection.cluster);

function clusterOf({ cluster, options = {} }: ClusterAddress): LockConnectionOption {
  const { redisOptions: { username, password } = {}, natMap } = options;
  return createCluster({
    rootNodes: (cluster as ServerAddress[]).map(({ host, port }) => ({ socket: { host, port } })),
    defaults: { ...(username && { username }), ...(password && { password }) },
    ...(natMap !== undefined && { nodeAddressMap: natMap as Record<string, ServerAddress> }),
  });
}
