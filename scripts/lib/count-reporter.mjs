import { writeFileSync } from 'node:fs';

/** In this variable `npm test` says where it wants to read the counts. */
export const COUNTS_VARIABLE = 'LOCKS_TEST_COUNTS';

/** A Jest reporter that writes down the counts that `npm test` prints as its last line. */
export default class CountReporter {
  onRunComplete(_contexts, { numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    // A file that could not be run is a failure, although no test of it has failed.
    const counts = { passed: numPassedTests, failed: numFailedTests + numRuntimeErrorTestSuites };
    const file = process.env[COUNTS_VARIABLE];
    if (file) writeFileSync(file, JSON.stringify(counts));
  }
}
