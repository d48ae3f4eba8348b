import { expect, it } from '@jest/globals';
import { check } from '../../chaos/checker/check.mjs';
import { runChaos } from '../../chaos/harness/run.mjs';
import { print, summarise } from '../../chaos/report/summary.mjs';
import { findRedis } from '../../scripts/lib/redis-installation.mjs';

const LENGTH = 3_000;

/** What a run of three seconds seldom meets: faults of several masters, of machines, and of lines that nobody sees end. */
const AMONG_MASTERS = ['majority away', 'majority back empty', 'vote forgotten', 'clock stepped'];
const OUT_OF_SIGHT = ['client suspended', 'subscribers mute', 'subscribers deaf'].filter(
  (name) => name !== 'client suspended' || process.platform === 'linux',
);

it.each<[string, number, string[] | undefined]>([
  ['single', 306, undefined],
  ['single', 307, OUT_OF_SIGHT],
  ['redlock', 351, undefined],
  ['redlock-5', 352, [...AMONG_MASTERS, ...OUT_OF_SIGHT]],
  ['sentinel', 545, undefined],
  ['cluster', 868, undefined],
])(
  'a short chaos run on %s (seed %d) ends without a violation',
  async (topology, seed, only) => {
    const installation = await findRedis();
    const verdict = check(
      await runChaos({
        seed,
        length: LENGTH,
        topology,
        only,
        installation: installation!,
      }),
    );
    const summary = summarise(verdict);
    // What the history says of it is more use than a difference of two lists.
    if (verdict.violations.length > 0) throw new Error(print(summary));
    // It was a run worth looking at.
    expect(summary.holds).toBeGreaterThan(10);
    expect(Object.keys(summary.clients)).toHaveLength(4);
    expect(Object.keys(summary.faults).length).toBeGreaterThan(only === undefined ? 3 : 1);
  },
  120_000,
);
