import { expect, it } from '@jest/globals';
import { check } from '../../chaos/checker/check.mjs';
import { runChaos } from '../../chaos/harness/run.mjs';
import { print, summarise } from '../../chaos/report/summary.mjs';
import { findRedis } from '../../scripts/lib/redis-installation.mjs';

const LENGTH = 3_000;

it.each([
  ['single', 306],
  ['redlock', 351],
  ['sentinel', 545],
  ['cluster', 868],
])(
  'C20 a short chaos run on %s (seed %d) ends without a violation',
  async (topology, seed) => {
    const installation = await findRedis();
    const verdict = check(await runChaos({ seed, length: LENGTH, topology, installation: installation! }));
    const summary = summarise(verdict);
    // What the history says of it is more use than a difference of two lists.
    if (verdict.violations.length > 0) throw new Error(print(summary));
    // It was a run worth looking at.
    expect(summary.holds).toBeGreaterThan(10);
    expect(Object.keys(summary.clients)).toHaveLength(4);
    expect(Object.keys(summary.faults).length).toBeGreaterThan(3);
  },
  120_000,
);
