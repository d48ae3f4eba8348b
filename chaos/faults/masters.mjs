import { setTimeout as sleep } from 'node:timers/promises';

/** Faults of other topologies that make a master forget its last tokens: where clocks differ these may fall then. */
export const FORGETFUL = ['server restarted empty', 'all deleted', 'fence deleted'];

/** ms by which the clock of a master may be ahead or behind after a step. */
const MOST_STEP = 4_000;

/** So many that those left are no majority, for longer than any lease; then one after the other comes back. */
const majorityAway = (kind) => ({
  strikes: 'server',
  plan({ random, servers }) {
    const all = random.shuffled(Array.from({ length: servers }, (_, i) => i));
    const away = all.slice(0, Math.floor(servers / 2) + 1);
    const isKilled = random.chance(0.5);
    return { away, isKilled, gaps: away.map(() => random.between(50, 700)), lasts: random.between(700, 1_500) };
  },
  ...kind,
});

/** What happens to several masters that know nothing of each other. */
export const AMONG_MASTERS = [
  majorityAway({
    name: 'majority away',
    async begin({ servers }, { away, isKilled, gaps }) {
      await Promise.all(away.map((i) => (isKilled ? servers[i].kill() : servers[i].pause())));
      return oneByOne(away, gaps, (i) => (isKilled ? servers[i].startAgain() : servers[i].resume()));
    },
  }),
  // It has lost its data, and starts only after the longest lease: the docs say that this is safe.
  majorityAway({
    name: 'majority back empty',
    forgets: true,
    async begin({ servers }, { away, gaps }) {
      await Promise.all(away.map((i) => servers[i].kill()));
      return oneByOne(away, gaps, (i) => servers[i].startAgain({ empty: true }));
    },
  }),
  {
    name: 'vote forgotten',
    strikes: 'server',
    breaks: 'restart without persistence',
    forgets: true,
    plan: ({ random, servers }) => ({
      server: random.between(0, servers - 1),
      ms: random.between(40, 150),
      lasts: random.between(100, 500),
    }),
    // The other masters are slow: acquisitions have the vote of this one when it forgets it, and wait for another one.
    async begin({ topology, clients, servers }, { server, ms, lasts }) {
      const others = [...clients.keys()].flatMap((client) => topology.networkOf(client).filter((_, i) => i !== server));
      for (const proxy of others) proxy.delay(ms);
      await sleep(lasts);
      await servers[server].kill();
      return async () => {
        await servers[server].startAgain({ empty: true });
        await sleep(ms);
        await Promise.all(others.map((proxy) => proxy.heal()));
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
    strikes: 'data',
    breaks: 'force release',
    plan: ({ random, servers, keys }) => ({ server: random.between(0, servers - 1), key: random.among(keys) }),
    async begin({ operator }, { server, key }) {
      await operator.call('forceReleaseAt', server, key).catch((error) => {
        if (error.code !== 'LOCK_STORE') throw error;
      });
    },
  },
];

const oneByOne = (away, gaps, bringBack) => async () => {
  for (const [n, i] of away.entries()) {
    if (n > 0) await sleep(gaps[n]);
    await bringBack(i);
  }
};
