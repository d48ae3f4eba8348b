import { eventually, eventuallyPasses } from '../wait/eventually.mjs';

const SLOTS = 16_384;

export const clusterArgs = (nodeTimeout) =>
  [
    ['--cluster-enabled', 'yes'],
    ['--cluster-node-timeout', String(nodeTimeout)],
    // A master that nobody follows leaves the others at work.
    ['--cluster-require-full-coverage', 'no'],
    ['--cluster-replica-validity-factor', '0'],
    ['--repl-diskless-sync-delay', '0'],
  ].flat();

export async function formCluster(nodes, masters) {
  const [first, ...others] = nodes;
  await Promise.all(
    nodes.slice(0, masters).map(async ({ admin }, i) => {
      const [from, to] = [Math.floor((i * SLOTS) / masters), Math.floor(((i + 1) * SLOTS) / masters)];
      await admin.cluster('ADDSLOTS', ...Array.from({ length: to - from }, (_, slot) => from + slot));
      await admin.cluster('SET-CONFIG-EPOCH', i + 1);
    }),
  );
  for (const { host, port } of others) await first.admin.cluster('MEET', host, port);
  await eventually(async () => (await Promise.all(nodes.map(knownNodes))).every((n) => n === nodes.length), {
    within: 15_000,
    what: 'a Cluster in which all know all',
  });
  await Promise.all(
    nodes.slice(masters).map(async ({ admin }, i) => {
      const master = await idOf(nodes[i % masters]);
      await eventually(() => admin.cluster('REPLICATE', master), { within: 10_000 });
    }),
  );
  await untilClusterIsWhole(nodes);
}

export async function untilClusterIsWhole(nodes) {
  await eventuallyPasses(
    async () => {
      for (const { admin, port } of nodes) {
        const info = await admin.cluster('INFO');
        if (!/cluster_state:ok/.test(info) || !/cluster_slots_ok:16384/.test(info)) throw new Error(`${port}: ${info}`);
        const replication = await admin.info('replication');
        if (/master_link_status:down/.test(replication)) throw new Error(`${port} does not follow yet`);
      }
      // A master that has been overtaken may not know of it yet.
      const views = await Promise.all(nodes.map(slotsSeenBy));
      if (new Set(views).size > 1) throw new Error(`the nodes do not agree: ${[...new Set(views)].join(' or ')}`);
      const masters = (await Promise.all(nodes.map(isMaster))).filter(Boolean).length;
      if (masters !== views[0]?.split(' ').length) throw new Error(`there are ${masters} masters`);
    },
    { within: 20_000, every: 20 },
  );
}

export async function moveKeys({ slot, from, to }) {
  const [fromId, toId] = [await idOf(from), await idOf(to)];
  await to.admin.cluster('SETSLOT', slot, 'IMPORTING', fromId);
  await from.admin.cluster('SETSLOT', slot, 'MIGRATING', toId);
  for (;;) {
    const names = await from.admin.cluster('GETKEYSINSLOT', slot, 100);
    if (names.length === 0) break;
    await from.admin.call('MIGRATE', to.host, to.port, '', 0, 5_000, 'KEYS', ...names);
  }
}

export async function endMove({ slot, from, to }, nodes) {
  const toId = await idOf(to);
  const rest = nodes.filter((node) => node !== to && node !== from);
  for (const node of [to, from, ...rest]) {
    // A replica is told by its master.
    await node.admin.cluster('SETSLOT', slot, 'NODE', toId).catch(() => undefined);
  }
}

export const idOf = async ({ admin }) => String(await admin.cluster('MYID'));

export const isMaster = async ({ admin }) => /role:master/.test(await admin.info('replication'));

/** Which masters have slots, as a node sees it: their ports. */
async function slotsSeenBy({ admin }) {
  const ranges = await admin.cluster('SLOTS');
  return [...new Set(ranges.map(([, , master]) => master?.[1]))].sort().join(' ');
}

/** How many nodes a node knows, those with whom it shakes hands aside. */
async function knownNodes({ admin }) {
  const lines = String(await admin.cluster('NODES'))
    .trim()
    .split('\n');
  return lines.filter((line) => !line.includes('handshake') && !line.includes('noaddr')).length;
}
