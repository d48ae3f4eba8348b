import { Cluster, type ClusterOptions } from 'ioredis';
import { hashSlot } from '../../lib/keys/index.js';
import { redisKeys } from '../../lib/keys/redis-keys.js';
import { clusterArgs, endMove, formCluster, idOf, isMaster, moveKeys, untilClusterIsWhole } from './cluster-nodes.mjs';
import { eventually } from '../wait/eventually.mjs';
import { startRedis, type RedisServer } from './redis-server.js';

export interface RedisClusterOptions {
  readonly masters?: number;
  /** For each master. */
  readonly replicas?: number;
  /** After how many ms without an answer a node counts as failed. */
  readonly nodeTimeout?: number;
  /** What each node is started with besides. */
  readonly args?: readonly string[];
}

/** Starts a Redis Cluster of the test's own, on free ports; it ends with `stop()`, or with this process. */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { masters = 3, replicas = 0, nodeTimeout = 5_000 } = options;
  const args = [...clusterArgs(nodeTimeout), ...(options.args ?? [])];
  const nodes = await Promise.all(Array.from({ length: masters * (1 + replicas) }, () => startRedis({ args })));
  const cluster = new RedisCluster(nodes);
  try {
    await formCluster(nodes, masters);
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
    const move = { slot: this.slotOf(key), from: await this.masterOf(key), to: await this.otherMaster(key) };
    await moveKeys(move);
    await meanwhile();
    await endMove(
      move,
      this.nodes.filter(({ isRunning }) => isRunning),
    );
    await eventually(async () => (await this.masterOf(key)) === move.to, { what: 'the new master' });
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

  /** Resolves when all nodes that run agree on who has which slots, and all replicas follow. */
  untilWhole(): Promise<void> {
    return untilClusterIsWhole(this.nodes.filter(({ isRunning }) => isRunning));
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
