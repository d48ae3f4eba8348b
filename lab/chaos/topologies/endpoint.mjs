import { startRedisCluster } from '../../testbed/servers/redis-cluster.mjs';
import { SERVER, Server } from './server.mjs';
import { IN_ANOTHER_DATABASE } from '../faults/applications.mjs';
import * as single from './single.mjs';

/** One endpoint in front of a Cluster: a server that has all slots, and plain connections to it through a proxy each. */
export async function start(options) {
  const topology = await single.start({ ...options, name: 'endpoint', startServer });
  // A Cluster has one database.
  return { ...topology, faults: topology.faults.filter(({ name }) => name !== IN_ANOTHER_DATABASE) };
}

async function startServer({ installation }) {
  const start = (given) => Server.start({ ...given, installation });
  const cluster = await startRedisCluster({ masters: 1, server: SERVER, start });
  return cluster.nodes[0];
}
