import { RespProxy } from '../proxies/resp-proxy.mjs';
import { startRedis, type RedisServer } from '../servers/redis-server.mjs';
import { eventually } from '../wait/eventually.mjs';
import { Bench, type BenchTerms } from './bench.js';

/** Starts a replica of a master. Resolves when it has all that has been written so far. */
export async function startReplica(master: RedisServer): Promise<RedisServer> {
  const replica = await startRedis({ args: ['--replicaof', master.host, String(master.port)] });
  await untilFollowing(master);
  return replica;
}

/** Resolves when the replica of a master has all that has been written so far. */
export async function untilFollowing(master: RedisServer): Promise<void> {
  await eventually(async () => (await master.admin.info('replication')).includes('state=online'), {
    within: 15_000,
    what: 'a replica that follows',
  });
  await master.admin.set('probe', '', 'PX', 1);
  await master.replicated();
}

/**
 * A master and a replica for each test, and an address that leads to the master. Existing connections stay where they are
 * if it leads to the other one.
 */
export class ReplicaBench extends Bench {
  master!: RedisServer;
  replica!: RedisServer;
  address!: RespProxy;

  constructor(terms?: BenchTerms) {
    super({ ...terms, each: true });
  }

  protected get servers(): readonly RedisServer[] {
    return [this.master, this.replica].filter(({ isRunning }) => isRunning);
  }

  protected get connection(): string {
    return this.address.url;
  }

  protected async start(): Promise<void> {
    this.master = await startRedis();
    this.replica = await startReplica(this.master);
    this.address = await RespProxy.start(this.master);
  }

  protected async resume(): Promise<void> {}
  protected async flush(): Promise<void> {}

  protected async stop(): Promise<void> {
    await this.address.close();
    await Promise.all([this.master.stop(), this.replica.stop()]);
  }
}
