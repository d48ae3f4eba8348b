import type { RedisLockModuleOptions } from 'nestjs-redis-locks';
import { startRedisCluster } from '../../lab/testbed/servers/redis-cluster.mjs';
import { startRedisSentinels } from '../../lab/testbed/servers/redis-sentinels.mjs';
import { type RedisServer, eventually } from '../../lab/testbed/locks/locks.js';
import type { RedissonServers } from '../../lab/testbed/workers/redisson-process.mjs';

/** A busy machine must not take a living master for dead. */
const NODE_TIMEOUT = 2_000;

/** Several servers, as both sides reach them. All keys of the tests are on one of the masters. */
export interface Topology {
  readonly connection: NonNullable<RedisLockModuleOptions['connection']>;
  readonly java: RedissonServers;
  /** Runs a command at the master of the tests' keys. */
  call(command: string, ...args: Array<string | number>): Promise<unknown>;
  /** Kills the master of the tests' keys once its replica has all writes, and resolves when the replica is master. */
  failover(): Promise<void>;
  /** Starts the master again that was killed last, and resolves when it is a replica. */
  whole(): Promise<void>;
  stop(): Promise<void>;
}

/** The names of the tests' objects: a Cluster keeps all of them in one slot. */
export const named = (name: string): string => `{orders}:${name}`;

/** What is done with the master of the tests' keys. `replaced`: resolves when another server is master. */
function withMaster(
  master: () => Promise<RedisServer>,
  replaced: (old: RedisServer) => Promise<unknown>,
  untilWhole: () => Promise<unknown>,
): Pick<Topology, 'call' | 'failover' | 'whole'> {
  let killed: RedisServer | undefined;
  return {
    call: async (command, ...args) => (await master()).admin.call(command, ...args),
    async failover() {
      killed = await master();
      await killed.replicated();
      await killed.kill();
      await replaced(killed);
    },
    async whole() {
      await killed?.start();
      killed = undefined;
      await untilWhole();
    },
  };
}

export async function sentinels(): Promise<Topology> {
  const servers = await startRedisSentinels();
  const { connection } = servers;
  const addresses = connection.sentinels.map(({ host, port }) => `redis://${host}:${port}`);
  return {
    connection,
    java: { kind: 'sentinel', addresses, detail: connection.name },
    ...withMaster(
      () => servers.master(),
      (old) => servers.untilMasterIsNot(old),
      () => servers.untilWhole(),
    ),
    stop: () => servers.stop(),
  };
}

/** A Cluster whose sharded pub/sub both sides use. */
export async function cluster(): Promise<Topology> {
  const servers = await startRedisCluster({ masters: 3, replicas: 1, nodeTimeout: NODE_TIMEOUT });
  const master = (): Promise<RedisServer> => servers.masterOf(named('any'));
  return {
    connection: { cluster: servers.addresses },
    java: { kind: 'cluster', addresses: servers.nodes.map(({ url }) => url), detail: 'AUTO' },
    ...withMaster(
      master,
      () => eventually(master, { within: 60_000, every: 50, what: 'another master' }),
      () => servers.untilWhole({ within: 60_000 }),
    ),
    stop: () => servers.stop(),
  };
}
