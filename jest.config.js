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
  // They want a browser, promtool or a JVM: npm run test:browser, npm run test:alerts, npm run test:redisson.
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/test/browser/',
    '<rootDir>/test/alerts/',
    '<rootDir>/test/redisson/',
  ],
  testEnvironment: '<rootDir>/scripts/lib/jest-environment.mjs',
  runtime: '<rootDir>/scripts/lib/jest-runtime.cjs',
  extensionsToTreatAsEsm: ['.ts'],
  // `./x.js` in our TypeScript means `./x.ts`; in node_modules it means what it says. A moduleNameMapper cannot tell.
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
  // What ECMAScript modules leave behind adds up to gigabytes, and a collection to seconds.
  workerIdleMemoryLimit: '500MB',
  // ms. Seven workers that free some hundred MB each on two cores need more than the 500 ms after which Jest complains.
  workerGracefulExitTimeout: 30_000,
  // What takes long is an `eventually` that says what it waited for, not this: a busy machine may need minutes.
  testTimeout: 300_000,
};
