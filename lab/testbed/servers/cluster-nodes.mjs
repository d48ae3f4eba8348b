// @ts-check
import { eventually, eventuallyPasses } from '../wait/eventually.mjs';

/** @typedef {import('./redis-server.mjs').RedisServer} RedisServer */

const SLOTS = 16_384;

/**
 * Slots on their way from one master to another.
 * @typedef {{ readonly slots: readonly number[], readonly from: RedisServer, readonly to: RedisServer }} SlotMove
 */

/**
 * Begins to move slots, and takes everything in them to another master. May be repeated.
 * @param {SlotMove} move
 * @param {object} [options]
 * @param {RegExp} [options.stays] the names of keys that are left where they are
 * @param {() => void} [options.moving] called when the slots are moving, and before their keys do
 */
export async function moveKeys({ slots, from, to }, { stays, moving } = {}) {
  const [fromId, toId] = [await idOf(from), await idOf(to)];
  await Promise.all(slots.map((slot) => to.admin.cluster('SETSLOT', slot, 'IMPORTING', fromId)));
  await Promise.all(slots.map((slot) => from.admin.cluster('SETSLOT', slot, 'MIGRATING', toId)));
  moving?.();
  const takeKeys = async (/** @type {number} */ slot) => {
    for (;;) {
      const all = /** @type {string[]} */ (await from.admin.cluster('GETKEYSINSLOT', slot, 100));
      const names = all.filter((name) => !stays?.test(name));
      if (names.length === 0) break;
      await from.admin.call('MIGRATE', to.host, to.port, '', 0, 5_000, 'KEYS', ...names);
    }
  };
  await Promise.all(slots.map(takeKeys));
}

/** How many slots move at a time. */
const AT_ONCE = 16;

/**
 * Moves many slots from one master to another, with their keys.
 * @param {SlotMove} move
 * @param {(slots: readonly number[]) => void} moving receives the slots that begin to move
 * @param {readonly RedisServer[]} nodes
 */
export async function moveSlots({ slots, from, to }, moving, nodes) {
  for (let i = 0; i < slots.length; i += AT_ONCE) {
    const some = slots.slice(i, i + AT_ONCE);
    await moveKeys({ slots: some, from, to }, { moving: () => moving(some) });
    await endMove({ slots: some, from, to }, nodes);
  }
}

/**
 * Tells all nodes that the slots have a new master.
 * @param {SlotMove} move
 * @param {readonly RedisServer[]} nodes
 */
export async function endMove({ slots, from, to }, nodes) {
  const toId = await idOf(to);
  for (const { admin } of [to, from, ...nodes.filter((node) => node !== to && node !== from)]) {
    // A replica learns this from its master.
    await Promise.all(slots.map((slot) => admin.cluster('SETSLOT', slot, 'NODE', toId).catch(() => undefined)));
  }
}

/**
 * Whether a node is the master of a slot, by its own account.
 * @param {RedisServer} node
 * @param {number} slot
 */
export async function serves(node, slot) {
  if (!(await node.isMaster())) return false;
  return (await slotRanges(node)).some(([from, to, [, port]]) => from <= slot && slot <= to && port === node.port);
}

/**
 * The slots of a master, by its own account.
 * @param {RedisServer} node
 */
export async function slotsOf(node) {
  const own = (await slotRanges(node)).filter(([, , [, port]]) => port === node.port);
  return own.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i));
}

/** @param {RedisServer} node */
export const idOf = async ({ admin }) => String(await admin.cluster('MYID'));

/**
 * First and last slot, and host and port of the master, as a node sees them.
 * @param {RedisServer} node
 * @returns {Promise<Array<[number, number, [string, number]]>>}
 */
const slotRanges = async ({ admin }) => /** @type {any} */ (await admin.cluster('SLOTS'));

/**
 * Joins nodes; the first ones become masters, the others their replicas in turn.
 * @param {readonly RedisServer[]} nodes
 * @param {number} masters
 */
export async function joinNodes(nodes, masters) {
  const [first, ...others] = /** @type {[RedisServer, ...RedisServer[]]} */ (nodes);
  await Promise.all(
    nodes.slice(0, masters).map(async ({ admin }, i) => {
      const [from, to] = [Math.floor((i * SLOTS) / masters), Math.floor(((i + 1) * SLOTS) / masters)];
      await admin.cluster('ADDSLOTS', ...Array.from({ length: to - from }, (_, slot) => from + slot));
      await admin.cluster('SET-CONFIG-EPOCH', i + 1);
    }),
  );
  for (const { host, port } of others) await first.admin.cluster('MEET', host, port);
  await eventually(async () => (await Promise.all(nodes.map(knownNodes))).every((n) => n === nodes.length), {
    what: 'a Cluster in which all know all',
  });
  await Promise.all(
    nodes.slice(masters).map(async ({ admin }, i) => {
      const master = await idOf(/** @type {RedisServer} */ (nodes[i % masters]));
      await eventually(() => admin.cluster('REPLICATE', master), { within: 10_000 });
    }),
  );
}

/**
 * Resolves when all nodes agree on the masters of all slots, and all replicas follow.
 * @param {readonly RedisServer[]} nodes
 * @param {number} within ms
 */
export function untilNodesAgree(nodes, within) {
  return eventuallyPasses(
    async () => {
      for (const { admin, port } of nodes) {
        const info = String(await admin.cluster('INFO'));
        if (!/cluster_state:ok/.test(info) || !/cluster_slots_ok:16384/.test(info)) throw new Error(`${port}: ${info}`);
        const replication = await admin.info('replication');
        if (/master_link_status:down/.test(replication)) throw new Error(`${port} does not follow yet`);
      }
      // A master that has been overtaken may not know of it yet.
      const views = await Promise.all(nodes.map(mastersSeenBy));
      if (new Set(views).size > 1) throw new Error(`the nodes do not agree: ${[...new Set(views)].join(' or ')}`);
      const masters = (await Promise.all(nodes.map((node) => node.isMaster()))).filter(Boolean).length;
      if (masters !== views[0]?.split(' ').length) throw new Error(`there are ${masters} masters`);
    },
    { within, every: 20 },
  );
}

/**
 * Which masters have slots, as a node sees it: their ports.
 * @param {RedisServer} node
 */
async function mastersSeenBy(node) {
  const ranges = await slotRanges(node);
  return [...new Set(ranges.map(([, , master]) => master[1]))].sort().join(' ');
}

/**
 * How many nodes a node knows, without nodes with which it still shakes hands.
 * @param {RedisServer} node
 */
async function knownNodes({ admin }) {
  const lines = String(await admin.cluster('NODES'))
    .trim()
    .split('\n');
  return lines.filter((line) => !line.includes('handshake') && !line.includes('noaddr')).length;
}
