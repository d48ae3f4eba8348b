import { statSync } from 'node:fs';

/** The files that take longest. Of each three or four, one computes. */
const LONG = [
  'test/faults/cluster-frozen',
  'test/contract/cluster',
  'test/integration/redisson/fair',
  'test/faults/cluster-network',
  'test/integration/redisson/cluster',
  'test/package/documentation',
  'test/faults/lost-replies',
  'test/faults/sentinel-cut-off',
  'test/faults/deaf-subscriber',
  'test/integration/examples/fencing-postgres',
  'test/faults/deaf-subscriber-signs',
  'test/integration/nest/shutdown',
  'test/integration/redlock/far-apart',
  'test/package/client',
  'test/contract/redis',
  'test/contract/redlock',
  'test/faults/frozen-sentinel',
  'test/faults/suspended-machine',
  'test/faults/kinds/replicas',
  'test/faults/many-waiters',
  'test/faults/redlock-clocks',
  'test/package/options',
  'test/faults/plain-failover',
  'test/contract/differential',
  'test/faults/cluster-failover',
  'test/faults/cluster-reshard',
];

/** Files that keep one processor busy or more, in several processes. They are kept apart from each other. */
const HEAVY = [
  'test/simulation/simulation',
  'test/integration/cli/doctor',
  'test/chaos/chaos-replicas',
  'test/integration/safety/holds-in-pieces',
  'test/integration/cli/cli',
  'test/chaos/chaos',
  'test/integration/cli/cluster',
  'test/unit/keys/template-fuzz',
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
    const files = tests.map((test) => ({
      test,
      path: test.path.replaceAll('\\', '/'),
      size: statSync(test.path).size,
    }));
    const groups = { long: [], heavy: [], waiting: [], computing: [], short: [] };
    for (const file of files) groups[groupOf(file)].push(file);
    for (const group of Object.values(groups)) group.sort(compare);
    const { long, heavy, waiting, computing, short } = groups;
    return [...long, ...spread(heavy, waiting, computing), ...short].map(({ test }) => test);
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

const placeIn = (list, { path }) => list.findIndex((name) => path.endsWith(`/${name}.spec.ts`));

function groupOf(file) {
  if (placeIn(LONG, file) !== -1) return 'long';
  if (placeIn(HEAVY, file) !== -1) return 'heavy';
  if (WAITING.test(file.path)) return 'waiting';
  return SHORT.test(file.path) ? 'short' : 'computing';
}

/** The place in these lists; other files come behind. */
function rankOf(file) {
  const place = placeIn([...LONG, ...HEAVY], file);
  return place === -1 ? LONG.length + HEAVY.length : place;
}

const compare = (one, other) => rankOf(one) - rankOf(other) || other.size - one.size;

/** Joins lists: each keeps its order, and is spread evenly over the whole. */
function spread(...lists) {
  const placed = lists.flatMap((list) => list.map((item, i) => ({ item, place: (i + 0.5) / list.length })));
  return placed.sort((one, other) => one.place - other.place).map(({ item }) => item);
}
