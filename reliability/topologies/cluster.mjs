import { TAG } from '../roles/names.mjs';
import { eventually } from './eventually.mjs';
import { Server } from './server.mjs';

const SLOTS = 16_384;
const MASTERS = 3;
/** After how many ms without an answer a node counts as failed. */
export const NODE_TIMEOUT = 1_000;

/** A Cluster of three masters with a replica each. */
export async function start(installation, { nodeTimeout = NODE_TIMEOUT, listed = 2 * MASTERS } = {}) {
  const args = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeout)],
    ...['--cluster-require-full-coverage', 'no', '--cluster-replica-validity-factor', '0'],
  ];
  const servers = await Promise.all(Array.from({ length: 2 * MASTERS }, () => Server.start(installation, { args })));
  await form(servers);
  const slot = await servers[0].admin.cluster('KEYSLOT', TAG);
  const topology = {
    connection: { cluster: servers.slice(0, listed).map(({ host, port }) => ({ host, port })) },
    servers,
    listed: servers.slice(0, listed),
    slot,
    serving: () => servingSlot(servers, slot),
    /** The replica of who serves the locks. */
    other: async () => replicaOf(servers, await servingSlot(servers, slot)),
    /** A master that serves other slots. */
    async elsewhere() {
      const master = await servingSlot(servers, slot);
      for (const server of servers) if (server !== master && (await server.isMaster())) return server;
      throw new Error('there is no other master');
    },
    untilWhole: () => untilWhole(servers),
    stop: () => Promise.all(servers.map((server) => server.stop())),
  };
  await topology.untilWhole();
  return topology;
}

const idOf = ({ admin }) => admin.cluster('MYID');

async function form(servers) {
  const [first, ...others] = servers;
  await Promise.all(
    servers.slice(0, MASTERS).map(async ({ admin }, i) => {
      const [from, to] = [Math.floor((i * SLOTS) / MASTERS), Math.floor(((i + 1) * SLOTS) / MASTERS)];
      await admin.cluster('ADDSLOTS', ...Array.from({ length: to - from }, (_, n) => from + n));
      await admin.cluster('SET-CONFIG-EPOCH', i + 1);
    }),
  );
  for (const { host, port } of others) await first.admin.cluster('MEET', host, port);
  await eventually(async () => {
    const known = await Promise.all(servers.map(knownNodes));
    return known.every((count) => count === servers.length);
  });
  await Promise.all(
    servers.slice(MASTERS).map(async ({ admin }, i) => {
      const master = await idOf(servers[i]);
      await eventually(() => admin.cluster('REPLICATE', master));
    }),
  );
}

async function knownNodes({ admin }) {
  const lines = (await admin.cluster('NODES')).trim().split('\n');
  return lines.filter((line) => !/handshake|noaddr/.test(line)).length;
}

/** Who is master of a slot by its own account: others may be behind. */
async function servingSlot(servers, slot) {
  return eventually(
    async () => {
      for (const server of servers) {
        if (!(await server.isMaster())) continue;
        const ranges = await server.admin.cluster('SLOTS');
        const range = ranges.find(([from, to]) => from <= slot && slot <= to);
        if (range?.[2][1] === server.port) return server;
      }
      return undefined;
    },
    { what: 'a master of the slot' },
  );
}

async function replicaOf(servers, master) {
  const id = await idOf(master);
  const lines = (await master.admin.cluster('NODES')).split('\n');
  const port = Number(/:(\d+)@/.exec(lines.find((line) => line.split(' ')[3] === id) ?? '')?.[1]);
  return servers.find((server) => server.port === port);
}

function untilWhole(servers) {
  return eventually(
    async () => {
      const views = new Set();
      for (const { admin } of servers) {
        const info = await admin.cluster('INFO');
        if (!/cluster_state:ok/.test(info) || !/cluster_slots_ok:16384/.test(info)) return false;
        if (/master_link_status:down/.test(await admin.info('replication'))) return false;
        const ranges = await admin.cluster('SLOTS');
        views.add(
          ranges
            .map(([from, to, master]) => `${from}-${to}:${master[1]}`)
            .sort()
            .join(' '),
        );
      }
      return views.size === 1;
    },
    { within: 60_000, what: 'a whole Cluster' },
  );
}
