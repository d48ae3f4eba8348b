import { prepareRedisson, VERSIONS } from '../../scripts/lib/redisson-jars.mjs';
import { RedissonClient } from '../clients/redisson.mjs';
import { BESIDE_REDISSON } from '../faults/redisson.mjs';
import { Networks } from './networks.mjs';
import { SERVER, Server } from './server.mjs';

/** Two clients of this library, and a JVM with each version of Redisson. */
const JVMS = Object.fromEntries(VERSIONS.map((version, i) => [`j${i + 1}`, version]));
const NODES = ['c1', 'c2'];
export const CLIENTS = [...NODES, ...Object.keys(JVMS)];

export const prepare = prepareRedisson;

/** One Redis for clients of this library with `protocol: redisson()`, and clients of Redisson; a proxy before it for each. */
export async function start({ installation, clients }) {
  const server = await Server.start({ ...SERVER, installation });
  const networks = await Networks.start(clients, [server]);
  const urlOf = (client) => networks.of(client)[0].url;
  return {
    name: 'redisson',
    servers: [server],
    protocol: 'redisson',
    // A name is for one kind of object, as an RReadWriteLock joins an RLock of the same name.
    lockKinds: { red: ['exclusive'], green: ['exclusive'], blue: ['read', 'read', 'write'] },
    keepsLatches: false,
    hasCounters: true,
    faults: BESIDE_REDISSON(NODES),
    networkOf: (client) => networks.of(client),
    connectionOf: (client) => (client === undefined ? server.url : urlOf(client)),
    processOf(client, history) {
      const version = JVMS[client];
      if (version === undefined) return undefined;
      const servers = { kind: 'single', addresses: [urlOf(client)] };
      return () => new RedissonClient({ version, servers, history });
    },
    keysLeft: () => server.keysWithTtl(),
    async stop() {
      await networks.close();
      await server.stop();
    },
  };
}
