import { startRedisCluster } from '../../testbed/servers/redis-cluster.mjs';
import { SERVER, Server } from './server.mjs';
import * as single from './single.mjs';

/** One endpoint in front of a Cluster: a server that has all slots, and plain connections to it through a proxy each. */
export const start = (options) => single.start({ ...options, name: 'endpoint', startServer });

async function startServer({ installation }) {
  const start = (given) => Server.start({ ...given, installation });
  const cluster = await startRedisCluster({ masters: 1, server: SERVER, start });
  return cluster.nodes[0];
}
