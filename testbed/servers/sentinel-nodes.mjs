import { eventually, eventuallyPasses } from '../wait/eventually.mjs';

export const MASTER_NAME = 'mymaster';

export const REPLICATION_ARGS = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];

/** One Sentinel alone decides: several may split their votes, which takes them twice the failover-timeout to get over. */
export const sentinelConfig = ({ host, port }, downAfter) =>
  [
    `sentinel monitor ${MASTER_NAME} ${host} ${port} 1`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${downAfter}`,
    `sentinel failover-timeout ${MASTER_NAME} 1500`,
    `sentinel parallel-syncs ${MASTER_NAME} 1`,
    '',
  ].join('\n');

export async function untilFollowing({ admin }) {
  await eventually(async () => (await admin.info('replication')).includes('master_link_status:up'), { within: 15_000 });
}

export async function masterOf({ admin }, servers) {
  const [, port] = await admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME);
  return servers.find((server) => server.port === Number(port));
}

export async function askForFailover({ admin }) {
  await eventually(() => admin.call('SENTINEL', 'FAILOVER', MASTER_NAME), { within: 15_000, every: 100 });
}

export async function untilSentinelSeesAll(sentinel, servers) {
  await eventuallyPasses(
    async () => {
      const master = await masterOf(sentinel, servers);
      if (!/connected_slaves:1\r/.test(await master.admin.info('replication'))) throw new Error('no replica follows');
      const other = servers.find((server) => server !== master);
      if (!/master_link_status:up/.test(await other.admin.info('replication')))
        throw new Error('the replica is behind');
      const info = await sentinel.admin.info('sentinel');
      if (!/status=ok,address=[\d.:]+,slaves=1,/.test(info)) throw new Error(`the Sentinel says ${info}`);
    },
    { within: 30_000, every: 50 },
  );
}
