import { OPERATOR } from '../topologies/networks.mjs';
import { atOnce } from './servers.mjs';

const target = ({ random, keys, servers }) => ({ server: random.between(0, servers - 1), key: random.among(keys) });

const remove = (...roles) =>
  async function begin({ topology, servers }, { server, key }) {
    const { admin } = topology.serverOf?.(key) ?? servers[server];
    await admin.del(...roles.map((role) => `lock:${role}:{${key}}`));
  };

/** Ends with an answer, or with the connection; then it was before that, or never will be. */
export async function patiently(call) {
  try {
    await call;
  } catch (error) {
    if (error.code !== 'LOCK_STORE') throw error;
  }
}

/**
 * The answer of a server that was asked to end holds: how many it ended, how many clients were notified, where to
 * continue.
 */
const isForced = ({ value }) => Array.isArray(value) && value.length === 3 && value.every(Number.isInteger);
/** The answer to a force release is lost. So the client sends it again when its connection is cut: others hold the key by then. */
async function forceReleaseTwice({ topology, operator }, { key }) {
  const proxies = topology.networkOf(OPERATOR).flat();
  const lost = Promise.race(proxies.map((proxy) => proxy.dropRepliesFrom(isForced)));
  const done = patiently(operator.call('forceReleaseFar', key));
  // For a key that no client holds, no command is sent that could be sent again.
  await Promise.race([lost, done]);
  return async () => {
    await Promise.all(proxies.map((proxy) => proxy.restore()));
    await done;
  };
}

/** Faults of the data that the library keeps in Redis. */
export const DATA = [
  { name: 'state deleted', breaks: 'data deleted', plan: target, begin: remove('state') },
  {
    name: 'all deleted',
    breaks: 'data deleted',
    plan: atOnce,
    begin: async (world, { server }) => void (await world.servers[server].admin.flushall()),
  },
  {
    name: 'forced release',
    breaks: 'force release',
    plan: ({ random, keys }) => ({ key: random.among(keys) }),
    begin: ({ operator }, { key }) => patiently(operator.call('forceRelease', key)),
  },
  {
    name: 'forced release sent again',
    strikes: 'operator',
    breaks: 'force release',
    // Only the holds that exist when it is sent first, none that are granted later.
    breaksUntil: 'active',
    plan: ({ random, keys }) => ({ key: random.among(keys), lasts: random.between(1_200, 2_000) }),
    begin: forceReleaseTwice,
  },
  // Neither of these is presumed: waiters ask again, and tokens follow the clock.
  { name: 'queue deleted', plan: target, begin: remove('queue', 'waiters') },
  { name: 'fence deleted', plan: target, begin: remove('fence') },
];
