import { SkewedMaster } from '../../testbed/clocks/skewed-master.mjs';
import { EVERYWHERE } from '../faults/index.mjs';
import { AMONG_MASTERS, FORGETFUL } from '../faults/masters.mjs';
import { Random } from '../schedule/random.mjs';
import { Networks } from './networks.mjs';
import { SERVER, Server } from './server.mjs';

/** By how many ms the clock of a master may be ahead or behind. */
export const MOST_SKEW = 4_000;

export const start = (options) => startMasters({ ...options, name: 'redlock', masters: 3 });

/**
 * Servers that know nothing of each other, each with a clock of its own, and a proxy before each for each client. The
 * seed decides the readings of the clocks.
 */
export async function startMasters({ name, masters, installation, clients, seed }) {
  const random = new Random(seed, 'clocks');
  const servers = await Promise.all(Array.from({ length: masters }, () => Server.start({ ...SERVER, installation })));
  const clocks = await Promise.all(
    servers.map((server) => new SkewedMaster(server, random.between(-MOST_SKEW, MOST_SKEW)).listen()),
  );
  const networks = await Networks.start(clients, clocks);
  return {
    name,
    servers,
    clocks,
    // Several masters cannot count permits together, nor latches down.
    keepsLatches: false,
    lockKinds: ['exclusive', 'fair', 'read', 'write', 'several', 'owner'],
    faults: [...EVERYWHERE.map((kind) => ({ ...kind, forgets: FORGETFUL.includes(kind.name) })), ...AMONG_MASTERS],
    networkOf: (client) => networks.of(client),
    connectionOf: (client) => (client === undefined ? clocks : networks.of(client)).map(({ url }) => url),
    keysLeft: async () => (await Promise.all(servers.map((server) => server.keysWithTtl()))).flat(),
    revived: async () => (await Promise.all(servers.map((server, i) => server.revived(clocks[i].skew)))).flat(),
    async stop() {
      await networks.close();
      await Promise.all(clocks.map((clock) => clock.close()));
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}
