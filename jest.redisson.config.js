import config from './jest.config.js';

/** The tests beside Redisson on a JVM: npm run test:redisson. */
export default {
  ...config,
  testMatch: ['<rootDir>/test/redisson/**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  // They wait for leases and failovers most of the time.
  maxWorkers: 4,
};
