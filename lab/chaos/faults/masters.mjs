import { setTimeout as sleep } from 'node:timers/promises';
import { OPERATOR } from '../topologies/networks.mjs';
import { patiently } from './data.mjs';

/** Faults of other topologies that make a master forget its last tokens: where clocks differ these may fall then. */
export const FORGETFUL = ['server restarted empty', 'all deleted', 'fence deleted'];

/** ms by which the clock of a master may be ahead or behind after a step. */
const MOST_STEP = 4_000;

/**
 * ms that clients need between two times without a majority: they try to connect each second by then, and wait 100 ms
 * for a connection that is closed; then they ask the master for its identity, and for a lock.
 */
const RECONNECT = 1_500;

/** So many that the remaining masters are no majority, for longer than any lease; then one after the other returns. */
const majorityAway = (kind) => ({
  strikes: 'server',
  rest: RECONNECT,
  plan({ random, servers, longestLease }) {
    const all = random.shuffled(Array.from({ length: servers }, (_, i) => i));
    const away = all.slice(0, majorityOf(servers));
    const isKilled = random.chance(0.5);
    const gaps = away.map((_, n) => (n === 0 ? 0 : random.between(50, 700)));
    const lasts = longestLease + random.between(200, 1_000);
    return { away, isKilled, gaps, lasts, takes: gaps.reduce((sum, gap) => sum + gap, lasts) };
  },
  ...kind,
});

/** ms within which a client takes a lock. */
const TAKEN = 3_000;
/** Tokens are microseconds since 1970. */
const hasToken = ({ args }) => args.some((arg) => /^\d{16}$/.test(arg));

const majorityOf = (servers) => Math.floor(servers / 2) + 1;

/**
 * Faults of several masters that know nothing of each other.
 * @type {ReadonlyArray<{ readonly name: string, readonly breaks?: string }>}
 */
export const AMONG_MASTERS = [
  majorityAway({
    name: 'majority away',
    async begin({ servers }, { away, isKilled, gaps }) {
      await Promise.all(away.map((i) => (isKilled ? servers[i].kill() : servers[i].pause())));
      return oneByOne(away, gaps, (i) => (isKilled ? servers[i].start() : servers[i].resume()));
    },
  }),
  // It has lost its data, and starts only after the longest lease: the docs say that this is safe.
  majorityAway({
    name: 'majority back empty',
    forgets: true,
    async begin({ servers }, { away, gaps }) {
      await Promise.all(away.map((i) => servers[i].kill()));
      return oneByOne(away, gaps, (i) => servers[i].start({ empty: true }));
    },
  }),
  {
    name: 'vote forgotten',
    strikes: 'server',
    breaks: 'restart without persistence',
    forgets: true,
    plan({ random, clients, servers }) {
      const [server, ...others] = random.shuffled(Array.from({ length: servers }, (_, i) => i));
      const slow = others.slice(0, majorityOf(servers) - 1);
      const [ms, after, lasts] = [random.between(60, 200), random.between(0, 20), random.between(150, 250)];
      return { server, far: random.among(clients), slow, ms, after, lasts, takes: TAKEN + after + lasts + 2 * ms };
    },
    // One client has the vote of this master when it forgets it, and waits for the slow masters. It does not reach the
    // others, which can make up a majority with this one.
    async begin({ topology, servers }, { server, far, slow, ms, after }) {
      const proxies = topology.networkOf(far);
      const struck = proxies.filter((_, i) => i !== server);
      for (const [i, proxy] of proxies.entries()) {
        if (slow.includes(i)) proxy.delay({ request: ms, reply: ms });
        else if (i !== server) proxy.disconnect();
      }
      // It writes the token, here at once and where it is slow later.
      await Promise.race([proxies[server].seen(hasToken), sleep(TAKEN)]);
      await sleep(after);
      await servers[server].kill();
      return async () => {
        await servers[server].start({ empty: true });
        await sleep(2 * ms);
        await Promise.all([...struck, proxies[server]].map((proxy) => proxy.restore()));
      };
    },
  },
  {
    name: 'clock stepped',
    strikes: 'server',
    breaks: 'clock stepped',
    plan: ({ random, servers }) => ({
      server: random.between(0, servers - 1),
      skew: random.between(-MOST_STEP, MOST_STEP),
    }),
    begin: ({ topology }, { server, skew }) => void topology.clocks[server].setSkew(skew),
  },
  {
    name: 'forced release on one master',
    strikes: 'operator',
    breaks: 'force release',
    plan: ({ random, servers, keys }) => ({
      server: random.between(0, servers - 1),
      key: random.among(keys),
      isTold: random.chance(0.3),
      lasts: random.between(300, 900),
    }),
    begin: forceReleaseOnOne,
  },
];

const oneByOne = (away, gaps, bringBack) => async () => {
  for (const [n, i] of away.entries()) {
    await sleep(gaps[n]);
    await bringBack(i);
  }
};

/** Masters are asked to remember forced releases for this number of ms; no other command of an operator contains it. */
const REMEMBER = '60000';

/**
 * Commands to the other masters do not arrive until the connections to them are cut and the commands are sent again.
 * The holder may miss the message: then only this master knows.
 */
async function forceReleaseOnOne({ topology, clients, operator, servers }, { server, key, isTold }) {
  const holds = await servers[server].holdsOf(key);
  const deaf = isTold ? [] : [...clients.keys()].map((client) => topology.networkOf(client)[server]);
  for (const proxy of deaf) proxy.dropReplies(({ isSubscriber }) => isSubscriber);
  const others = topology.networkOf(OPERATOR).filter((_, i) => i !== server);
  let isLost = false;
  for (const proxy of others)
    void proxy.dropRequestsFrom(({ args }) => args.includes(REMEMBER)).then(() => (isLost = true));
  const done = patiently(operator.call('forceReleaseFar', key));
  const forced = await Promise.race([servers[server].untilForced(key, holds), done]);
  if (forced > 0 && !isLost) throw new Error('a force release reached all masters: it is sent in another way now');
  return async () => {
    await Promise.all([...others, ...deaf].map((proxy) => proxy.restore()));
    await done;
  };
}
