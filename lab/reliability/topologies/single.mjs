import { eventually } from '../../testbed/wait/eventually.mjs';
import { startServer } from './server.mjs';

/** One server. */
export async function start(installation) {
  const server = await startServer(installation);
  return {
    connection: server.url,
    servers: [server],
    serving: async () => server,
    untilWhole: () => eventually(() => server.admin.ping(), { what: 'an answer' }),
    stop: () => server.stop(),
  };
}
