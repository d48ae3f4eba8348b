/** @type {import('jest').Config} */
export default {
  roots: [
    '<rootDir>/lib',
    '<rootDir>/test',
    '<rootDir>/lab/testbed',
    '<rootDir>/sample-app',
    '<rootDir>/examples/fencing-postgres',
  ],
  testMatch: ['<rootDir>/test/**/*.spec.ts'],
  // They need a browser, promtool or a JVM: npm run test:browser, npm run test:alerts, npm run test:redisson.
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/test/browser/',
    '<rootDir>/test/alerts/',
    '<rootDir>/test/redisson/',
  ],
  testEnvironment: '<rootDir>/scripts/lib/jest-environment.mjs',
  runtime: '<rootDir>/scripts/lib/jest-runtime.cjs',
  extensionsToTreatAsEsm: ['.ts'],
  // `./x.js` means `./x.ts` in this project, and `./x.js` in node_modules. A moduleNameMapper cannot make this difference.
  resolver: '<rootDir>/scripts/lib/jest-resolver.cjs',
  moduleNameMapper: {
    '^nestjs-redis-locks$': '<rootDir>/lib/index.ts',
    '^nestjs-redis-locks/(client|store|testing|dashboard|redisson)$': '<rootDir>/lib/$1/index.ts',
    '^nestjs-redis-locks/(metrics|health|diagnostics)$': '<rootDir>/lib/observation/$1/index.ts',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        sourceMaps: 'inline',
        jsc: {
          target: 'es2022',
          keepClassNames: true,
          parser: { syntax: 'typescript', decorators: true, explicitResourceManagement: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
        },
        module: { type: 'es6' },
      },
    ],
  },
  reporters: ['default', '<rootDir>/scripts/lib/count-reporter.mjs'],
  testSequencer: '<rootDir>/scripts/lib/longest-first.mjs',
  // The tests wait twice as long as they compute, so there are more workers than cores.
  maxWorkers: 7,
  // ECMAScript modules of finished suites would take gigabytes, and their garbage collection seconds.
  workerIdleMemoryLimit: '500MB',
  // ms. Seven workers that free some hundred MB each on two cores need more than the 500 ms after which Jest complains.
  workerGracefulExitTimeout: 30_000,
  // ms. A test that waits for too long fails by its `eventually`, which names the condition. A busy machine may need minutes.
  testTimeout: 300_000,
};
