import { eventually } from '../../testbed/wait/eventually.mjs';
import { RespProxy } from '../../testbed/proxies/resp-proxy.mjs';
import { startServer } from './server.mjs';

/** Replicas need not wait for others to synchronize. */
const PROMPT = ['--repl-diskless-sync-delay', '0'];

/** A master and a replica, without Sentinels: one address leads to the current master. */
export async function start(installation) {
  const master = await startServer(installation, { args: PROMPT });
  const replica = await startServer(installation, {
    args: [...PROMPT, '--replicaof', master.host, String(master.port)],
  });
  const servers = [master, replica];
  const address = await RespProxy.start(master, { remembers: false });
  let current = master;
  const other = () => servers.find((server) => server !== current);
  const topology = {
    connection: address.url,
    servers,
    serving: async () => current,
    other: async () => other(),
    /** Like a change of a DNS name: new connections lead to the new server. */
    moveAddress(server) {
      current = server;
      address.leadTo(server);
    },
    deafenSubscribers: (how) => address.goDeaf(({ isSubscriber }) => isSubscriber, how),
    untilWhole: () =>
      eventually(
        async () => {
          const following = await other().admin.info('replication');
          const followed = await current.admin.info('replication');
          return /master_link_status:up/.test(following) && /state=online/.test(followed);
        },
        { what: 'a replica that follows' },
      ),
    async stop() {
      await address.close();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
  await topology.untilWhole();
  return topology;
}
