import { prepareRedisson, VERSIONS } from '../../../scripts/lib/redisson-jars.mjs';
import { RedissonClient } from '../clients/redisson.mjs';
import { besideRedisson } from '../faults/redisson.mjs';
import { start as startSingle } from './single.mjs';

/** Two clients of this library, and a JVM with each version of Redisson. */
const NODES = ['c1', 'c2'];
const VERSION_OF = Object.fromEntries(VERSIONS.map((version, i) => [`j${i + 1}`, version]));
export const CLIENTS = [...NODES, ...Object.keys(VERSION_OF)];

export const prepare = prepareRedisson;

/** One Redis for clients of this library with `protocol: redisson()`, and clients of Redisson; a proxy before it for each. */
export async function start(options) {
  const single = await startSingle(options);
  return withJvms(single, 'redisson', (client) => single.connectionOf(client));
}

/** A topology with clients of both libraries. `serversOf` names, for a client of Redisson, where it finds Redis. */
export const withJvms = (topology, name, serversOf) => ({
  ...topology,
  name,
  protocol: 'redisson',
  // A name is for one kind of object, as an RReadWriteLock joins an RLock of the same name.
  lockKinds: { red: ['exclusive'], green: ['exclusive'], blue: ['read', 'read', 'write'] },
  keepsLatches: false,
  hasCounters: true,
  faults: besideRedisson(topology.faults, NODES),
  processOf(client, history) {
    const version = VERSION_OF[client];
    if (version === undefined) return undefined;
    return () => new RedissonClient({ version, at: serversOf(client), history });
  },
  // Only the layout of this library remembers which holds have ended.
  revived: undefined,
});
