import { eventually } from '../../testbed/wait/eventually.mjs';
import { Forwarder } from './forwarder.mjs';
import { startServer } from './server.mjs';

/** Replicas need not wait for others that want the same. */
const PROMPT = ['--repl-diskless-sync-delay', '0'];

/** A master and a replica, without Sentinels: an address leads to whoever is master, and is told when that changes. */
export async function start(installation) {
  const master = await startServer(installation, { args: PROMPT });
  const replica = await startServer(installation, {
    args: [...PROMPT, '--replicaof', master.host, String(master.port)],
  });
  const servers = [master, replica];
  const forwarder = await Forwarder.start(master);
  const other = () => servers.find((server) => server !== forwarder.target);
  const topology = {
    connection: forwarder.url,
    servers,
    serving: async () => forwarder.target,
    other: async () => other(),
    /** As when a name in the DNS is changed: who connects from now on gets there. */
    moveAddress: (server) => (forwarder.target = server),
    deafenSubscribers: (how) => forwarder.deafenSubscribers(how),
    untilWhole: () =>
      eventually(
        async () => {
          const following = await other().admin.info('replication');
          const followed = await forwarder.target.admin.info('replication');
          return /master_link_status:up/.test(following) && /state=online/.test(followed);
        },
        { what: 'a replica that follows' },
      ),
    async stop() {
      forwarder.stop();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
  await topology.untilWhole();
  return topology;
}
