import { endMove, moveKeys, serves } from '../../testbed/servers/cluster-nodes.mjs';
import { startRedisCluster } from '../../testbed/servers/redis-cluster.mjs';
import { eventually } from '../../testbed/wait/eventually.mjs';
import { IN_CLUSTERS } from '../faults/cluster.mjs';
import { EVERYWHERE } from '../faults/index.mjs';
import { Networks } from './networks.mjs';
import { FailoverNotes, Pair, said } from './pair.mjs';
import { SERVER, Server } from './server.mjs';

const MASTERS = 3;
/** ms without an answer. Longer than servers are stopped in passing, so that a failover is a fault of its own. */
const NODE_TIMEOUT = 1_500;
/** A server that is stopped while a replica connects keeps it waiting for 60 s otherwise. In s; pings come more often. */
const IMPATIENCE = ['--repl-timeout', '10', '--repl-ping-replica-period', '1'];
/** A move of a slot is tried again if a failover interrupts it. */
const PATIENTLY = { within: 30_000, every: 100, what: 'the move of a slot' };

/** Three masters with a replica each, and a proxy before each of the six for each client. */
export async function start({ installation, clients, keys }) {
  const start = (options) => Server.start(options);
  const server = { ...SERVER, installation };
  const kind = { masters: MASTERS, replicas: 1, nodeTimeout: NODE_TIMEOUT, args: IMPATIENCE };
  const cluster = await startRedisCluster({ ...kind, server, start });
  const { nodes } = cluster;
  const pairs = nodes.slice(0, MASTERS).map((master, i) => new Pair(master, nodes[MASTERS + i]));
  const slots = await Slots.of(keys, pairs);
  const networks = await Networks.start(clients, nodes);
  const addresses = (proxies) => proxies.map(({ port }) => ({ host: nodes[0].host, port }));
  return {
    name: 'cluster',
    servers: pairs,
    // A failover or a move must not be undone by another one.
    serversInTurn: true,
    serverOf: (key) => slots.masterOf(key),
    slots,
    lockKinds: ['exclusive', 'fair', 'read', 'write', 'permits', 'several', 'owner', 'replicated'],
    faults: [...EVERYWHERE, ...IN_CLUSTERS],
    networkOf: (client) => pairs.map(({ servers }) => servers.map((server) => networks.before(server, client))),
    connectionOf: (client) =>
      client === undefined
        ? { cluster: addresses(nodes) }
        : { cluster: addresses(networks.of(client)), options: { natMap: networks.detours(client) } },
    keysLeft: async () => (await Promise.all(pairs.map(({ master }) => master.keysWithTtl()))).flat(),
    untilWhole: () => cluster.untilWhole({ within: 60_000 }),
    /** For finding out why a failover did not happen. */
    async state() {
      const told = nodes.map(({ admin }) => said(() => admin.cluster('NODES')));
      return (await Promise.all([...told, ...pairs.map((pair) => pair.roles())])).flat().join('\n');
    },
    watch(history, now) {
      const notes = new FailoverNotes(history);
      pairs.forEach((pair, server) => {
        pair.watch(now);
        pair.promoted = (next) => void notes.note(pair, next, { server, keys: slots.keysOf(pair) });
      });
    },
    async stop() {
      await networks.close();
      await Promise.all(pairs.map((pair) => pair.stop()));
    },
  };
}

/** Which masters have the keys that clients want, and how they get others. */
class Slots {
  #pairs;
  #slots = new Map();
  #owners = new Map();

  static async of(keys, pairs) {
    const slots = new Slots();
    slots.#pairs = pairs;
    for (const key of keys) {
      const slot = await pairs[0].admin.cluster('KEYSLOT', `lock:state:{${key}}`);
      slots.#slots.set(key, slot);
      slots.#owners.set(key, pairs[Math.floor((slot * MASTERS) / 16_384)]);
    }
    return slots;
  }

  masterOf(key) {
    return this.#owners.get(key).master;
  }

  keysOf(pair) {
    return [...this.#owners].filter(([, owner]) => owner === pair).map(([key]) => key);
  }

  /** Begins to move a key's slot to the master that is `steps` further on; answers how that is ended. */
  async move(key, steps) {
    const from = this.#owners.get(key);
    const to = this.#pairs[(this.#pairs.indexOf(from) + steps) % this.#pairs.length];
    // Masters may change on the way.
    const move = () => ({ slots: [this.#slots.get(key)], from: from.master, to: to.master });
    const nodes = this.#pairs.flatMap(({ servers }) => servers);
    const carry = async () => {
      if (!(await this.#has(to, key))) await moveKeys(move());
      return true;
    };
    await eventually(carry, PATIENTLY);
    return async () => {
      await eventually(async () => {
        await carry();
        await endMove(move(), nodes);
        return (await this.#has(to, key)) && !(await this.#has(from, key));
      }, PATIENTLY);
      this.#owners.set(key, to);
    };
  }

  /** Whether a master has the slot of a key, by its own account. */
  #has({ master }, key) {
    return serves(master, this.#slots.get(key));
  }
}
