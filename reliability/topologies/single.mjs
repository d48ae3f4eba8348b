import { eventually } from './eventually.mjs';
import { Server } from './server.mjs';

/** One server. */
export async function start(installation) {
  const server = await Server.start(installation);
  return {
    connection: server.url,
    servers: [server],
    serving: async () => server,
    untilWhole: () => eventually(() => server.admin.ping(), { what: 'an answer' }),
    stop: () => server.stop(),
  };
}
