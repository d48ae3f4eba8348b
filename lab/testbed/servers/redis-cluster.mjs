// @ts-check
import { Cluster } from 'ioredis';
import { redisKey } from '../locks/redis-key.mjs';
import { eventually } from '../wait/eventually.mjs';
import { endMove, idOf, joinNodes, moveKeys, moveSlots, serves, slotsOf, untilNodesAgree } from './cluster-nodes.mjs';
import { startRedis } from './redis-server.mjs';

/**
 * @typedef {import('./redis-server.mjs').RedisServer} RedisServer
 *
 * @typedef {object} RedisClusterOptions
 * @property {number} [masters] default 3
 * @property {number} [replicas] for each master; default 0
 * @property {number} [nodeTimeout] after how many ms without an answer a node counts as failed; default 5000
 * @property {readonly string[]} [args] further arguments of each node
 * @property {import('./redis-server.mjs').ServerOptions} [server] of each node
 * @property {(options: import('./redis-server.mjs').RedisServerOptions) => Promise<RedisServer>} [start] starts a node
 */

/**
 * Starts a Redis Cluster of the caller's own, on free ports. It ends with `stop()`, or with this process.
 * @param {RedisClusterOptions} [options]
 */
export async function startRedisCluster(options = {}) {
  const { masters = 3, replicas = 0, nodeTimeout = 5_000, server, start = startRedis } = options;
  const args = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeout)],
    // A master without a successor leaves the others at work.
    ...['--cluster-require-full-coverage', 'no', '--cluster-replica-validity-factor', '0'],
    ...(options.args ?? []),
  ];
  const count = masters * (1 + replicas);
  const cluster = new RedisCluster(await Promise.all(Array.from({ length: count }, () => start({ ...server, args }))));
  try {
    await joinNodes(cluster.nodes, masters);
    await cluster.untilWhole();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

/** A real Redis Cluster whose nodes a test or a laboratory controls. */
export class RedisCluster {
  /** @type {Cluster[]} */
  #clients = [];
  /** @type {Cluster | undefined} */
  #admin;

  /** @param {readonly RedisServer[]} nodes the masters first, as they were at the start */
  constructor(nodes) {
    this.nodes = nodes;
  }

  /** The value for `connection.cluster`. */
  get addresses() {
    return this.nodes.map(({ host, port }) => ({ host, port }));
  }

  /** The nodes that run. */
  get running() {
    return this.nodes.filter(({ isRunning }) => isRunning);
  }

  /** The masters by their own account. */
  async masters() {
    const isMaster = await Promise.all(this.running.map((node) => node.isMaster()));
    return this.running.filter((_, i) => isMaster[i]);
  }

  /**
   * A client that is closed when the Cluster is stopped.
   * @param {import('ioredis').ClusterOptions} [options]
   */
  client(options = {}) {
    const client = new Cluster(this.addresses, {
      ...options,
      redisOptions: { disconnectTimeout: 100, ...options.redisOptions },
    });
    client.on('error', () => undefined);
    this.#clients.push(client);
    return client;
  }

  /** A client of the caller's own, besides the clients that it tests. */
  get admin() {
    return (this.#admin ??= this.client({ slotsRefreshInterval: 500 }));
  }

  /**
   * The slot of a lock.
   * @param {string} key
   * @returns {Promise<number>}
   */
  slotOf(key) {
    const [node] = this.running;
    if (node === undefined) throw new Error('no node runs');
    return node.admin.cluster('KEYSLOT', redisKey('state', key));
  }

  /**
   * The master of a lock now, by its own account: other nodes may be behind.
   * @param {string} key
   */
  async masterOf(key) {
    const slot = await this.slotOf(key);
    for (const node of this.running) if (await serves(node, slot)) return node;
    throw new Error(`no master serves slot ${slot}`);
  }

  /**
   * A master other than the one of a lock.
   * @param {string} key
   */
  async otherMaster(key) {
    const master = await this.masterOf(key);
    const other = (await this.masters()).find((node) => node !== master);
    if (other === undefined) throw new Error('there is no other master');
    return other;
  }

  /**
   * `count` keys that begin with `name`, each in a slot of its own, which are on each of the masters in turn.
   * @param {string} name
   * @param {number} count
   */
  async keysOnAllMasters(name, count) {
    const masters = await this.masters();
    const keys = [];
    for (let i = 0; keys.length < count; i++) {
      const key = `${name}-${i}`;
      if ((await this.masterOf(key)) === masters[keys.length % masters.length]) keys.push(key);
    }
    return keys;
  }

  /**
   * Moves the slot of a lock to another master, with all its contents, as `redis-cli --cluster reshard` does.
   * @param {string} key
   * @param {() => Promise<void>} [meanwhile] happens between the move of the keys and its announcement
   * @param {RegExp} [last] the names of keys that move after `meanwhile`
   */
  async migrate(key, meanwhile, last) {
    const move = { slots: [await this.slotOf(key)], from: await this.masterOf(key), to: await this.otherMaster(key) };
    await moveKeys(move, { stays: last });
    await meanwhile?.();
    if (last !== undefined) await moveKeys(move);
    await endMove(move, this.running);
    await eventually(async () => (await this.masterOf(key)) === move.to, { what: 'the new master' });
  }

  /**
   * Moves the first part of the slots of each master to the next master, with all their contents, as
   * `redis-cli --cluster reshard` does. Some slots move at a time.
   * @param {{ share?: number, moving?: (slots: readonly number[]) => void }} [options] `moving`: receives the slots that
   *   begin to move
   */
  async reshard({ share = 1 / 3, moving = () => undefined } = {}) {
    const masters = await this.masters();
    const lists = await Promise.all(masters.map(slotsOf));
    for (const [i, slots] of lists.entries()) {
      const [from, to] = /** @type {[RedisServer, RedisServer]} */ ([masters[i], masters[(i + 1) % masters.length]]);
      await moveSlots({ slots: slots.slice(0, slots.length * share), from, to }, moving, this.running);
    }
  }

  /**
   * The replica of a master.
   * @param {RedisServer} master
   * @returns {Promise<RedisServer>}
   */
  async replicaOf(master) {
    const id = await idOf(master);
    return eventually(
      async () => {
        const lines = String(await master.admin.cluster('NODES')).split('\n');
        const line = lines.find((each) => each.split(' ')[3] === id);
        const port = Number(/:(\d+)@/.exec(line ?? '')?.[1]);
        return this.nodes.find((node) => node.port === port);
      },
      { within: 10_000, what: `a replica of ${master.port}` },
    );
  }

  /**
   * Resolves when all nodes that run agree on the masters of all slots, and all replicas follow.
   * @param {{ within?: number }} [options]
   */
  untilWhole({ within = 20_000 } = {}) {
    return untilNodesAgree(this.running, within);
  }

  /** Forgets all data. */
  async flush() {
    for (const { admin } of await this.masters()) await admin.flushall();
  }

  async stop() {
    for (const client of this.#clients.splice(0)) client.disconnect();
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  async [Symbol.asyncDispose]() {
    await this.stop();
  }
}
