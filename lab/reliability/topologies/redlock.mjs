import { eventually } from '../../testbed/wait/eventually.mjs';
import { startServer } from './server.mjs';

const MASTERS = 3;

/** Three servers that know nothing of each other. */
export async function start(installation) {
  const servers = await Promise.all(Array.from({ length: MASTERS }, () => startServer(installation)));
  return {
    connection: servers.map(({ url }) => url),
    servers,
    serving: async () => servers[0],
    untilWhole: () =>
      eventually(() => Promise.all(servers.map(({ admin }) => admin.ping())), { what: 'an answer of all' }),
    stop: () => Promise.all(servers.map((server) => server.stop())),
  };
}
