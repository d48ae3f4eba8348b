import { expect, it } from '@jest/globals';
import { runWithoutViolation } from './short-runs.js';

it('a short chaos run with 1 000 readers and callers for permits ends without a violation', async () => {
  const summary = await runWithoutViolation({ seed: 11, length: 3_000, topology: 'single', holders: 'crowd' });
  expect(summary.holds).toBeGreaterThan(1_000);
});
