import config from './jest.config.js';

/** The tests that want a browser: npm run test:browser. */
export default {
  ...config,
  testMatch: ['<rootDir>/test/browser/**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
  testTimeout: 60_000,
};
