import { IN_APPLICATIONS } from '../faults/applications.mjs';
import { EVERYWHERE } from '../faults/index.mjs';
import { SERVER, Server } from './server.mjs';
import { Networks } from './networks.mjs';

const startAlone = ({ installation }) => Server.start({ ...SERVER, installation });

/** One Redis, with a proxy before it for each client. */
export async function start({ installation, clients, name = 'single', startServer = startAlone }) {
  const server = await startServer({ installation });
  const networks = await Networks.start(clients, [server]);
  return {
    name,
    servers: [server],
    lockKinds: ['exclusive', 'fair', 'read', 'write', 'permits', 'several', 'owner'],
    faults: [...EVERYWHERE, ...IN_APPLICATIONS],
    lendsClients: true,
    /** The proxies between a client and the servers. */
    networkOf: (client) => networks.of(client),
    /** The module's `connection`, of a client or (without one) past all proxies. */
    connectionOf: (client) => (client === undefined ? server.url : networks.of(client)[0].url),
    keysLeft: () => server.keysWithTtl(),
    revived: () => server.revived(),
    async stop() {
      await networks.close();
      await server.stop();
    },
  };
}
