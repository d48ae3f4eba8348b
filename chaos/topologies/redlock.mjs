import { EVERYWHERE } from '../faults/index.mjs';
import { Networks } from './networks.mjs';
import { Server } from './server.mjs';

const MASTERS = 3;

/** Three servers that know nothing of each other, with a proxy before each for each client. */
export async function start({ installation, clients }) {
  const servers = await Promise.all(Array.from({ length: MASTERS }, () => Server.start(installation)));
  const networks = await Networks.start(clients, servers);
  return {
    name: 'redlock',
    servers,
    // Several masters cannot count permits together.
    lockKinds: ['exclusive', 'fair', 'read', 'write', 'several', 'owner'],
    faults: EVERYWHERE,
    networkOf: (client) => networks.of(client),
    connectionOf: (client) => (client === undefined ? servers : networks.of(client)).map(({ url }) => url),
    keysLeft: async () => (await Promise.all(servers.map((server) => server.keysWithTtl()))).flat(),
    async stop() {
      await networks.close();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}
