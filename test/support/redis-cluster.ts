import { Cluster, type ClusterOptions } from 'ioredis';
import { hashSlot } from '../../lib/keys/index.js';
import { redisKeys } from '../../lib/keys/redis-keys.js';
import { eventually, eventuallyPasses } from './eventually.js';
import { startRedis, type RedisServer } from './redis-server.js';

const SLOTS = 16_384;

export interface RedisClusterOptions {
  readonly masters?: number;
  /** For each master. */
  readonly replicas?: number;
  /** After how many ms without an answer a node counts as failed. */
  readonly nodeTimeout?: number;
}

/** Starts a Redis Cluster of the test's own, on free ports; it ends with `stop()`, or with this process. */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, replicas = 0, nodeTimeout = 5_000 } = options;
  const args = [
    ['--cluster-enabled', 'yes'],
    ['--cluster-node-timeout', String(nodeTimeout)],
    // A master that nobody follows leaves the others at work.
    ['--cluster-require-full-coverage', 'no'],
    ['--cluster-replica-validity-factor', '0'],
    ['--repl-diskless-sync-delay', '0'],
  ].flat();
  const nodes = await Promise.all(Array.from({ length: masters * (1 + replicas) }, () => startRedis({ args })));
  const cluster = new RedisCluster(nodes);
  try {
    await cluster.form(masters);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

/** A real Redis Cluster whose nodes are in the test's hands. */
export class RedisCluster implements AsyncDisposable {
  private readonly clients: Cluster[] = [];
  private adminClient: Cluster | undefined;

  constructor(
    /** The masters first, as they were at the start. */
    readonly nodes: readonly RedisServer[],
  ) {}

  /** What `connection.cluster` takes. */
  get addresses(): Array<{ host: string; port: number }> {
    return this.nodes.map(({ host, port }) => ({ host, port }));
  }

  /** A client that is closed when the Cluster is stopped. */
  client(options: ClusterOptions = {}): Cluster {
    const client = new Cluster(this.addresses, {
      ...options,
      redisOptions: { disconnectTimeout: 100, ...options.redisOptions },
    });
    client.on('error', () => undefined);
    this.clients.push(client);
    return client;
  }

  /** The test's own client, beside those it tests. */
  get admin(): Cluster {
    return (this.adminClient ??= this.client({ slotsRefreshInterval: 500 }));
  }

  /** The name under which the Cluster keeps a part of a lock. */
  name(role: keyof ReturnType<typeof redisKeys>, key: string): string {
    return redisKeys('lock', key)[role];
  }

  slotOf(key: string): number {
    return hashSlot(this.name('state', key));
  }

  /** Who is the master of a key now, by its own account: others may be behind. */
  async masterOf(key: string): Promise<RedisServer> {
    const slot = this.slotOf(key);
    for (const node of this.nodes.filter(({ isRunning }) => isRunning)) {
      const ranges = await node.admin.cluster('SLOTS');
      const port = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2]?.[1];
      if (port === node.port && (await isMaster(node))) return node;
    }
    throw new Error(`nobody serves slot ${slot}`);
  }

  /** A master other than the one of a key. */
  async otherMaster(key: string): Promise<RedisServer> {
    const master = await this.masterOf(key);
    for (const node of this.nodes) {
      if (node !== master && node.isRunning && (await isMaster(node))) return node;
    }
    throw new Error('there is no other master');
  }

  /** `count` keys that begin with `name`, of which no two are in one slot, and which are on each of the masters in turn. */
  async keysOnAllMasters(name: string, count: number): Promise<string[]> {
    const masters: RedisServer[] = [];
    for (const node of this.nodes) if (node.isRunning && (await isMaster(node))) masters.push(node);
    const keys: string[] = [];
    for (let i = 0; keys.length < count; i++) {
      const key = `${name}-${i}`;
      if ((await this.masterOf(key)) === masters[keys.length % masters.length]) keys.push(key);
    }
    return keys;
  }

  /** Moves the slot of a key to another master, with all that is in it, as `redis-cli --cluster reshard` does. */
  async migrate(key: string, meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
    const slot = this.slotOf(key);
    const [from, to] = [await this.masterOf(key), await this.otherMaster(key)];
    const [fromId, toId] = [await idOf(from), await idOf(to)];
    await to.admin.cluster('SETSLOT', slot, 'IMPORTING', fromId);
    await from.admin.cluster('SETSLOT', slot, 'MIGRATING', toId);
    for (;;) {
      const names = await from.admin.cluster('GETKEYSINSLOT', slot, 100);
      if (names.length === 0) break;
      await from.admin.call('MIGRATE', to.host, to.port, '', 0, 5_000, 'KEYS', ...names);
    }
    await meanwhile();
    const rest = this.nodes.filter((node) => node !== to && node !== from && node.isRunning);
    for (const node of [to, from, ...rest]) {
      // A replica is told by its master.
      await node.admin.cluster('SETSLOT', slot, 'NODE', toId).catch(() => undefined);
    }
    await eventually(async () => (await this.masterOf(key)) === to, { what: 'the new master' });
  }

  /** The replica of a master. */
  async replicaOf(master: RedisServer): Promise<RedisServer> {
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

  /** Joins the nodes; the first ones become masters. */
  async form(masters: number): Promise<void> {
    const [first, ...others] = this.nodes as [RedisServer, ...RedisServer[]];
    await Promise.all(
      this.nodes.slice(0, masters).map(async ({ admin }, i) => {
        const [from, to] = [Math.floor((i * SLOTS) / masters), Math.floor(((i + 1) * SLOTS) / masters)];
        await admin.cluster('ADDSLOTS', ...Array.from({ length: to - from }, (_, slot) => from + slot));
        await admin.cluster('SET-CONFIG-EPOCH', i + 1);
      }),
    );
    for (const { host, port } of others) await first.admin.cluster('MEET', host, port);
    await eventually(
      async () => (await Promise.all(this.nodes.map(knownNodes))).every((n) => n === this.nodes.length),
      {
        within: 15_000,
        what: 'a Cluster in which all know all',
      },
    );
    await Promise.all(
      this.nodes.slice(masters).map(async ({ admin }, i) => {
        const master = await idOf(this.nodes[i % masters]!);
        await eventually(() => admin.cluster('REPLICATE', master), { within: 10_000 });
      }),
    );
    await this.untilWhole();
  }

  /** Resolves when all nodes that run agree on who has which slots, and all replicas follow. */
  async untilWhole(): Promise<void> {
    const running = this.nodes.filter(({ isRunning }) => isRunning);
    await eventuallyPasses(
      async () => {
        for (const { admin, port } of running) {
          const info = await admin.cluster('INFO');
          if (!/cluster_state:ok/.test(info) || !/cluster_slots_ok:16384/.test(info))
            throw new Error(`${port}: ${info}`);
          const replication = await admin.info('replication');
          if (/master_link_status:down/.test(replication)) throw new Error(`${port} does not follow yet`);
        }
        // A master that has been overtaken may not know of it yet.
        const views = await Promise.all(running.map(slotsSeenBy));
        if (new Set(views).size > 1) throw new Error(`the nodes do not agree: ${[...new Set(views)].join(' or ')}`);
        const masters = (await Promise.all(running.map(isMaster))).filter(Boolean).length;
        if (masters !== views[0]?.split(' ').length) throw new Error(`there are ${masters} masters`);
      },
      { within: 20_000, every: 20 },
    );
  }

  /** Forgets all data. */
  async flush(): Promise<void> {
    for (const node of this.nodes) if (node.isRunning && (await isMaster(node))) await node.admin.flushall();
  }

  async stop(): Promise<void> {
    for (const client of this.clients.splice(0)) client.disconnect();
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

const idOf = async ({ admin }: RedisServer): Promise<string> => String(await admin.cluster('MYID'));

const isMaster = async ({ admin }: RedisServer): Promise<boolean> =>
  /role:master/.test(await admin.info('replication'));

/** Which masters have slots, as a node sees it: their ports. */
async function slotsSeenBy({ admin }: RedisServer): Promise<string> {
  const ranges = await admin.cluster('SLOTS');
  return [...new Set(ranges.map(([, , master]) => master?.[1]))].sort().join(' ');
}

/** How many nodes a node knows, those with whom it shakes hands aside. */
async function knownNodes({ admin }: RedisServer): Promise<number> {
  const lines = String(await admin.cluster('NODES'))
    .trim()
    .split('\n');
  return lines.filter((line) => !line.includes('handshake') && !line.includes('noaddr')).length;
}
