import config from './jest.config.js';

/** The tests that want promtool: npm run test:alerts. */
export default {
  ...config,
  testMatch: ['<rootDir>/test/alerts/**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
