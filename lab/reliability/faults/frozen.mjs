import { untilMaster } from './failovers.mjs';
import { SERVER_FAULTS } from './servers.mjs';

/** After how many ms without an answer a server counts as dead here, as is common in production. */
const PATIENCE = 2_000;
const needs = { downAfter: PATIENCE, nodeTimeout: PATIENCE };
const AFTER = `\`down-after\` ${PATIENCE / 1_000} s`;
const IN_CLUSTER = `\`cluster-node-timeout\` ${PATIENCE / 1_000} s`;

async function freezeMaster(topology) {
  const [master, replica] = [await topology.serving(), await topology.other()];
  await master.pause();
  await untilMaster(replica);
}

/** Parts that stop without a sign and stay so: nothing closes a connection, or refuses one. */
export const FROZEN = {
  'sentinel-frozen': {
    title: 'first Sentinel stopped (SIGSTOP) for good, then all connections killed',
    isLasting: true,
    needs,
    async inject(topology) {
      await topology.sentinels[0].pause();
      await SERVER_FAULTS['connections-killed'].inject(topology);
    },
  },
  'sentinel-and-master-frozen': {
    title: `first Sentinel and master stopped (SIGSTOP) for good, ${AFTER}`,
    isLasting: true,
    needs,
    async inject(topology) {
      await topology.sentinels[0].pause();
      await freezeMaster(topology);
    },
  },
  'sentinel-and-master-cut-off': {
    title: `first Sentinel and master cut off from the others, not from clients, ${AFTER}`,
    isLasting: true,
    needs,
    async inject(topology) {
      const replica = await topology.other();
      await topology.cutOff();
      await untilMaster(replica);
    },
  },
  'master-frozen': {
    title: `master stopped (SIGSTOP) for good, ${IN_CLUSTER}`,
    isLasting: true,
    needs,
    inject: freezeMaster,
  },
  'listed-gone': {
    title: `all nodes killed; all start again, except the node that the client was given, ${IN_CLUSTER}`,
    isLasting: true,
    needs: { ...needs, listed: 1 },
    async inject({ servers, listed }) {
      await Promise.all(servers.map((server) => server.kill()));
      await Promise.all(servers.filter((server) => !listed.includes(server)).map((server) => server.start()));
    },
  },
};
