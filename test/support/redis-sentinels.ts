import type { RedisOptions } from 'ioredis';
import { eventually, eventuallyPasses } from './eventually.js';
import { startRedis, type RedisServer } from './redis-server.js';

const NAME = 'mymaster';
/** After how many ms without an answer a Sentinel takes a server for dead. */
const DOWN_AFTER = 600;

/**
 * Starts a master, a replica and a Sentinel of the test's own; they end with `stop()`, or with this process. One Sentinel,
 * since several may split their votes, which takes them twice the failover-timeout to get over.
 */
export async function startRedisSentinels(): Promise<RedisSentinels> {
  const args = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
  const master = await startRedis({ args });
  const replica = await startRedis({ args: [...args, '--replicaof', master.host, String(master.port)] });
  await eventually(async () => (await replica.admin.info('replication')).includes('master_link_status:up'), {
    within: 15_000,
  });
  const config = [
    `sentinel monitor ${NAME} ${master.host} ${master.port} 1`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER}`,
    `sentinel failover-timeout ${NAME} 1500`,
    `sentinel parallel-syncs ${NAME} 1`,
    '',
  ].join('\n');
  const sentinels = new RedisSentinels([master, replica], await startRedis({ config, args: ['--sentinel'] }));
  await sentinels.untilWhole();
  return sentinels;
}

/** A real Sentinel over two real servers, one of which is the master. */
export class RedisSentinels implements AsyncDisposable {
  constructor(
    readonly servers: readonly RedisServer[],
    readonly watcher: RedisServer,
  ) {}

  /** What `connection` takes. */
  get connection(): RedisOptions {
    const { host, port } = this.watcher;
    return { sentinels: [{ host, port }], name: NAME };
  }

  /** Whom the Sentinel takes for the master. */
  async master(): Promise<RedisServer> {
    const [, port] = (await this.watcher.admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as string[];
    return this.servers.find((server) => server.port === Number(port))!;
  }

  /** Asks for a failover, as before maintenance. */
  async failover(): Promise<void> {
    const old = await this.master();
    await eventually(() => this.watcher.admin.call('SENTINEL', 'FAILOVER', NAME), { within: 15_000, every: 100 });
    await this.untilMasterIsNot(old);
  }

  untilMasterIsNot(old: RedisServer): Promise<unknown> {
    return eventually(
      async () => {
        const master = await this.master();
        return master !== old && (await master.admin.info('replication')).includes('role:master');
      },
      { within: 20_000, every: 20, what: 'another master' },
    );
  }

  /** Resolves when the Sentinel sees a master and a replica that follows it. */
  async untilWhole(): Promise<void> {
    await eventuallyPasses(
      async () => {
        const master = await this.master();
        if (!/connected_slaves:1\r/.test(await master.admin.info('replication'))) throw new Error('no replica follows');
        const other = this.servers.find((server) => server !== master)!;
        if (!/master_link_status:up/.test(await other.admin.info('replication')))
          throw new Error('the replica is behind');
        const info = await this.watcher.admin.info('sentinel');
        if (!/status=ok,address=[\d.:]+,slaves=1,/.test(info)) throw new Error(`the Sentinel says ${info}`);
      },
      { within: 30_000, every: 50 },
    );
  }

  async stop(): Promise<void> {
    await Promise.all([this.watcher, ...this.servers].map((server) => server.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
