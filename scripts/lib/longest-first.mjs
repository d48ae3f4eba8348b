import { statSync } from 'node:fs';

/** The files that take longest. Files that wait and files that compute take turns. */
const LONG = [
  'test/contract/cluster',
  'test/package/documentation',
  'test/contract/process-store',
  'test/faults/cluster-network',
  'test/simulation/simulation',
  'test/integration/redlock/far-apart',
  'test/faults/lost-replies',
  'test/integration/examples/fencing-postgres',
  'test/faults/deaf-subscriber-signs',
  'test/faults/sentinel-cut-off',
  'test/chaos/chaos-replicas',
  'test/integration/redlock/renewal',
  'test/faults/deaf-subscriber',
  'test/integration/cli/doctor',
  'test/faults/suspended-machine',
  'test/faults/cluster-frozen',
  'test/package/client',
  'test/contract/redis',
  'test/faults/kinds/replicas',
  'test/drill/drill',
  'test/faults/many-waiters',
  'test/faults/redlock-clocks',
  'test/integration/cli/cluster',
  'test/faults/plain-failover',
  'test/integration/redisson/fair',
  'test/contract/differential',
  'test/integration/cli/cli',
  'test/faults/cluster-outages',
  'test/faults/cluster-failover',
  'test/package/options',
];

/** Files that mostly wait: for faults to be noticed, for leases to end, for servers to agree. */
const WAITING =
  /\/test\/(contract|faults|integration\/(cluster|election|latch|redisson|redlock|sentinel))\/|\/shutdown\.spec/;

/** Short files, which fill the time of the other workers until the last of the longer ones has ended. */
const SHORT = /\/test\/unit\//;

/**
 * A test sequencer of Jest: the long files come first, the short ones last. In between, files that wait and files that
 * compute are spread evenly: side by side, they use the processor all the time, and do not fight over it.
 */
export default class LongestFirst {
  sort(tests) {
    const sized = tests.map((test) => ({
      test,
      path: test.path.replaceAll('\\', '/'),
      size: statSync(test.path).size,
    }));
    const bySize = sized.sort((one, other) => other.size - one.size);
    const long = bySize.filter(isLong).sort((one, other) => rankOf(one) - rankOf(other));
    const short = bySize.filter((each) => !isLong(each) && SHORT.test(each.path));
    const others = bySize.filter((each) => !isLong(each) && !SHORT.test(each.path));
    const waiting = others.filter(({ path }) => WAITING.test(path));
    const computing = others.filter(({ path }) => !WAITING.test(path));
    return [...long, ...spread(waiting, computing), ...short].map(({ test }) => test);
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

const rankOf = ({ path }) => LONG.findIndex((start) => path.endsWith(`/${start}.spec.ts`));

const isLong = (file) => rankOf(file) !== -1;

/** One list of several: each keeps its order, and is spread over the whole. */
function spread(...lists) {
  const placed = lists.flatMap((list) => list.map((item, i) => ({ item, place: (i + 0.5) / list.length })));
  return placed.sort((one, other) => one.place - other.place).map(({ item }) => item);
}
