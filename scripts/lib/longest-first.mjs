import { statSync } from 'node:fs';

/**
 * Files that take long, the longest first: the others fill the time of the other workers until the last of these has
 * ended.
 */
const LONG = [
  'test/faults/cluster-network',
  'test/faults/frozen-sentinel',
  'test/faults/sentinel-cut-off',
  'test/faults/deaf-subscriber',
  'test/faults/cluster-frozen',
  'test/chaos/chaos',
  'test/package/documentation',
  'test/simulation/simulation',
  'test/faults/suspended',
  'test/integration/redlock/far-apart',
  'test/contract/differential',
  'test/integration/election/election-faults',
  'test/integration/redlock/renewal',
  'test/faults/',
  'test/integration/sentinel/',
  'test/integration/cli/',
];

/** A test sequencer of Jest that goes by this list, and beyond it by the size of the files. */
export default class LongestFirst {
  sort(tests) {
    const order = new Map(tests.map((test) => [test, { rank: rankOf(test.path), size: statSync(test.path).size }]));
    const compare = (one, other) => one.rank - other.rank || other.size - one.size;
    return [...tests].sort((a, b) => compare(order.get(a), order.get(b)));
  }

  /** Every n-th file in this order, so that each part has its share of the long ones. */
  shard(tests, { shardIndex, shardCount }) {
    return this.sort(tests).filter((_, i) => i % shardCount === shardIndex - 1);
  }

  /** Failures are not remembered: `--onlyFailures` finds all. */
  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}

function rankOf(path) {
  const file = path.replaceAll('\\', '/');
  const rank = LONG.findIndex((start) => file.includes(`/${start}`));
  return rank === -1 ? LONG.length : rank;
}
