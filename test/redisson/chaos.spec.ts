import { expect, it } from '@jest/globals';
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
