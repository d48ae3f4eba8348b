import { startRedisCluster } from '../../testbed/servers/redis-cluster.mjs';
import { eventually } from '../../testbed/wait/eventually.mjs';
import { nameOf } from '../roles/names.mjs';
import { startLines } from './lines.mjs';
import { settings } from './server.mjs';

const MASTERS = 3;
/** After how many ms without an answer a node counts as failed. */
export const NODE_TIMEOUT = 1_000;

/** All measured locks are in the slot of this one. */
const KEY = nameOf('held');

/** A Cluster of three masters with a replica each. */
export async function start(installation, needs = {}) {
  const { nodeTimeout = NODE_TIMEOUT, listed = 2 * MASTERS, proxied = false } = needs;
  const server = settings(installation);
  const cluster = await startRedisCluster({ masters: MASTERS, replicas: 1, nodeTimeout, server });
  const serving = () => eventually(() => cluster.masterOf(KEY), { within: 30_000, every: 20 });
  const lines = proxied ? await startLines(cluster.nodes) : undefined;
  const addresses = (lines ?? cluster).addresses.slice(0, listed);
  return {
    connection: { cluster: addresses, ...(lines && { options: { natMap: lines.natMap } }) },
    deafenSubscribers: lines?.deafenSubscribers,
    servers: cluster.nodes,
    listed: cluster.nodes.slice(0, listed),
    serving,
    /** The replica of the server that serves the locks. */
    other: async () => cluster.replicaOf(await serving()),
    /** Moves the slot of the locks to another master. */
    moveSlot: () => cluster.migrate(KEY),
    untilWhole: () => cluster.untilWhole({ within: 60_000 }),
    async stop() {
      await lines?.close();
      await cluster.stop();
    },
  };
}
