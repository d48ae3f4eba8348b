import { runWithoutViolation } from '../chaos/short-runs.js';

const LENGTH = 10_000;
/** All keep the assumptions of the docs. */
const FAULTS = [
  'client killed',
  'client stopped',
  'client stopped beyond its lease',
  'network cut',
  'network gone',
  'replies lost',
  'server restarted',
  'server stopped',
];

/** The long form: npm run chaos -- --topology redisson --minutes 10 */
it('clients of both libraries keep their locks apart while processes, networks and Redis fail', async () => {
  const { explained, clients, faults } = await runWithoutViolation({
    ...{ topology: 'redisson', seed: 5, length: LENGTH, only: FAULTS },
  });
  expect(explained).toEqual([]);
  expect(Object.keys(clients).sort()).toEqual(['c1', 'c2', 'j1', 'j2']);
  expect(Object.keys(faults).length).toBeGreaterThan(3);
});

/** Failovers lose writes, and Redisson may use an old master for some time: only what these explain may happen. */
const FAILOVERS = [
  'master killed',
  'master stopped for long',
  'failover forced',
  'sentinel restarted',
  'client killed',
  'client stopped beyond its lease',
];

/** The long form: npm run chaos -- --topology redisson-sentinel --minutes 10 */
it('clients of both libraries keep their locks apart through failovers, except in the time of each', async () => {
  const { explained, clients, failovers } = await runWithoutViolation({
    ...{ topology: 'redisson-sentinel', seed: 5, length: LENGTH, only: FAILOVERS },
  });
  expect([...new Set(explained.map(({ assumption }) => assumption))]).toEqual(
    explained.length === 0 ? [] : ['master lost before replicating'],
  );
  expect(Object.keys(clients).sort()).toEqual(['c1', 'c2', 'j1', 'j2']);
  expect(Object.keys(failovers).length).toBeGreaterThan(0);
});
