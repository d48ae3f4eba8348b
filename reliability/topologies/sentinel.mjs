import { eventually } from './eventually.mjs';
import { Server } from './server.mjs';

const NAME = 'mymaster';
const SENTINELS = 3;
/** After how many ms without an answer a Sentinel takes a server for dead. */
export const DOWN_AFTER = 1_000;
const FAILOVER_TIMEOUT = 5_000;

/** A master, a replica, and three Sentinels. */
export async function start(installation) {
  const args = ['--repl-ping-replica-period', '1'];
  const first = await Server.start(installation, { args });
  const second = await Server.start(installation, { args: [...args, '--replicaof', first.host, String(first.port)] });
  const servers = [first, second];
  await eventually(async () => /master_link_status:up/.test(await second.admin.info('replication')));
  const config = [
    `sentinel monitor ${NAME} ${first.host} ${first.port} 2`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER}`,
    `sentinel failover-timeout ${NAME} ${FAILOVER_TIMEOUT}`,
    `sentinel parallel-syncs ${NAME} 1`,
    '',
  ].join('\n');
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, () => Server.start(installation, { config, args: ['--sentinel'] })),
  );

  const serving = async () => {
    const [, port] = await sentinels[0].admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME);
    return servers.find((server) => server.port === Number(port));
  };
  const topology = {
    connection: { sentinels: sentinels.map(({ host, port }) => ({ host, port })), name: NAME },
    servers,
    serving,
    other: async () => {
      const master = await serving();
      return servers.find((server) => server !== master);
    },
    failover: () =>
      eventually(() => sentinels[0].admin.call('SENTINEL', 'FAILOVER', NAME), { what: 'a Sentinel that agrees' }),
    untilWhole: () =>
      eventually(
        async () => {
          const master = await serving();
          const replica = servers.find((server) => server !== master);
          if (!/connected_slaves:1\r/.test(await master.admin.info('replication'))) return false;
          if (!/master_link_status:up/.test(await replica.admin.info('replication'))) return false;
          for (const { admin } of sentinels) {
            const info = await admin.info('sentinel');
            if (!info.includes(`status=ok,address=${master.host}:${master.port},slaves=1,sentinels=3`)) return false;
          }
          return true;
        },
        { within: 60_000, what: 'a whole Sentinel' },
      ),
    stop: () => Promise.all([...sentinels, ...servers].map((server) => server.stop())),
  };
  await topology.untilWhole();
  return topology;
}
