// @ts-check
import { createClient, createCluster } from 'redis';

/**
 * A client of node-redis for the same servers. Options that it does not have, such as those of Sentinels, stay as they are.
 * @param {any} connection the option `connection` of the module
 * @returns {any}
 */
export function withNodeRedis(connection) {
  if (typeof connection === 'string') return createClient({ url: connection });
  if (Array.isArray(connection)) return connection.map(withNodeRedis);
  if (Array.isArray(connection?.cluster)) return clusterOf(connection);
  const known = ['host', 'port', 'username', 'password', 'db'];
  if (connection === undefined || !Object.keys(connection).every((name) => known.includes(name))) return connection;
  const { host = '127.0.0.1', port = 6379, username, password, db } = connection;
  return createClient({
    socket: { host, port },
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(db !== undefined && { database: db }),
  });
}

/** @param {any} address */
function clusterOf({ cluster, options: { redisOptions: { username, password } = {}, natMap } = {} }) {
  return createCluster({
    rootNodes: cluster.map((/** @type {any} */ { host, port }) => ({ socket: { host, port } })),
    defaults: { ...(username && { username }), ...(password && { password }) },
    ...(natMap !== undefined && { nodeAddressMap: natMap }),
  });
}
