'use strict';

const NEST = '^node_modules/@nestjs/';
const IOREDIS = '^node_modules/ioredis/';

const MODULE = '^lib/((store/)?index\\.ts$|module/)';
/** Whatever is injected by Nest needs these names. They import nothing but errors and common. */
const TOKENS = '^lib/module/redis-lock\\.tokens\\.ts$';
const ERRORS = '^lib/errors/';
const COMMON = '^lib/common/';
const KEYS = '^lib/keys/';
const SERVICE = '^lib/(service|options)/';
const ENGINE = '^lib/engine/';
const DIAGNOSTICS = '^lib/observation/diagnostics/';
const STORE_PORT = '^lib/store/(?!index\\.ts$)[\\w.-]+\\.ts$';
const DECORATORS = '^lib/(decorators|interceptors)/';
const METRICS = '^lib/observation/metrics/';
const HEALTH = '^lib/observation/health/';
const DASHBOARD = '^lib/dashboard/';
const CLI = '^lib/cli/';
const REDISSON = '^lib/redisson/';
const NODE_REDIS = '^lib/node-redis/';
/** Where a client of node-redis or of ioredis is chosen. */
const CHOICE_OF_CLIENT = '^lib/store/redis/connect\\.ts$';
const CLIENT = '^lib/client/';
const TESTING = '^lib/testing/';

const forbidden = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

/** Files of the folder `from` import nothing of the library but `to`, and no packages that match `never`. */
function folder(name, comment, { from, to = [], never = [] }) {
  const rules = [
    forbidden(`${name}-imports`, comment, { path: from }, { path: '^lib/', pathNot: [from, ...to] }),
    forbidden(`${name}-packages`, comment, { path: from }, { path: never }),
  ];
  return never.length > 0 ? rules : rules.slice(0, 1);
}

/** One direction: decorator, interceptor → key → service → engine → store → Redis (docs/design.md). */
module.exports = {
  forbidden: [
    ...folder('decorators', 'Decorators and interceptors call the service. They know no store and no Redis.', {
      from: DECORATORS,
      to: [KEYS, SERVICE, ERRORS, COMMON, TOKENS],
      never: [IOREDIS],
    }),
    ...folder('keys', 'A key is made from a template and values, wherever these come from: no Nest, no Redis.', {
      from: KEYS,
      to: [ERRORS, COMMON],
      never: [NEST, IOREDIS],
    }),
    ...folder('service', 'The service and its handles know the engine, and no script and no Redis client.', {
      from: SERVICE,
      to: [ENGINE, KEYS, DIAGNOSTICS, ERRORS, COMMON],
      never: [IOREDIS],
    }),
    ...folder('engine', 'The engine knows a store by its port, so it runs on any store, and without Nest.', {
      from: ENGINE,
      to: [STORE_PORT, ERRORS, COMMON],
      never: [NEST, IOREDIS],
    }),
    ...folder('diagnostics', 'The channels carry events of the engine. No subscriber can disturb a lock.', {
      from: DIAGNOSTICS,
      to: ['^lib/engine/(event-publisher|lock-event)\\.ts$', ERRORS, COMMON],
      never: [NEST, IOREDIS],
    }),
    ...folder(
      'metrics',
      'Metrics, spans and log lines are made from the diagnostics channels. They import no package.',
      {
        from: METRICS,
        to: [
          DIAGNOSTICS,
          '^lib/common/(describe|observed|type-guards)\\.ts$',
          '^lib/engine/lock-event\\.ts$',
          '^lib/options/option-readers\\.ts$',
          ERRORS,
        ],
        never: ['^node_modules/'],
      },
    ),
    ...folder('health', 'The indicator calls the service. Terminus reads its result, and is not imported.', {
      from: HEALTH,
      to: [DECORATORS, SERVICE, ERRORS, COMMON, TOKENS],
      never: [IOREDIS, '^node_modules/@nestjs/terminus/'],
    }),
    ...folder('dashboard', 'The page calls the service. It knows no store, and no HTTP adapter of Nest.', {
      from: DASHBOARD,
      to: [DECORATORS, SERVICE, '^lib/engine/lock-event\\.ts$', ERRORS, COMMON, TOKENS],
      never: [IOREDIS, '^node_modules/@nestjs/platform-'],
    }),
    ...folder('store-port', 'The engine and the stores know the port. The port knows neither.', {
      from: STORE_PORT,
      to: [ERRORS, COMMON],
      never: [NEST, IOREDIS],
    }),
    ...['redis', 'memory', 'quorum'].flatMap((store) =>
      folder(
        `store-${store}`,
        'A store replies to one request at a time. The engine waits, renews and keeps the time.',
        {
          from: `^lib/store/${store}/`,
          // The quorum store knows its masters by the port, too.
          to: [STORE_PORT, KEYS, ERRORS, COMMON, ...(store === 'redis' ? [NODE_REDIS] : [])],
          never: store === 'redis' ? [NEST] : [NEST, IOREDIS],
        },
      ),
    ),
    ...folder('node-redis', 'Lines over another client: what a line is, and the Redis store, do not depend on it.', {
      from: NODE_REDIS,
      to: ['^lib/store/redis/(connection-options|line|script-call|servers|store-failure)\\.ts$', ERRORS, COMMON],
      never: [NEST, IOREDIS],
    }),
    forbidden(
      'node-redis-chosen-once',
      'One file chooses between the clients. All others know a line.',
      { path: '^lib/', pathNot: [NODE_REDIS, CHOICE_OF_CLIENT] },
      { path: NODE_REDIS },
    ),
    ...folder('redisson', 'Another layout in the same Redis: its own scripts, on the connections of the Redis store.', {
      from: REDISSON,
      to: [
        STORE_PORT,
        '^lib/store/redis/',
        '^lib/module/redis-lock\\.protocol\\.ts$',
        '^lib/options/option-readers\\.ts$',
        KEYS,
        ERRORS,
        COMMON,
      ],
      never: [NEST],
    }),
    ...folder('errors', 'Every file may throw them, so they import nothing.', { from: ERRORS, never: [NEST, IOREDIS] }),
    ...folder('common', 'Every file may use clocks and durations, so they import errors only.', {
      from: COMMON,
      to: [ERRORS],
      never: [NEST, IOREDIS],
    }),
    ...folder('tokens', 'Every part that Nest injects may use the tokens, so they import errors and common only.', {
      from: TOKENS,
      to: [COMMON, ERRORS],
    }),
    forbidden(
      'a-rule-for-each-folder',
      'A new folder of lib needs a rule above that says what it may import.',
      {
        path: '^lib/',
        pathNot: [
          MODULE,
          KEYS,
          SERVICE,
          ENGINE,
          DIAGNOSTICS,
          '^lib/store/(redis|memory|quorum)/',
          STORE_PORT,
          ERRORS,
          COMMON,
          DECORATORS,
          METRICS,
          HEALTH,
          DASHBOARD,
          REDISSON,
          NODE_REDIS,
          CLI,
          CLIENT,
          TESTING,
        ],
      },
      {},
    ),
    ...Object.entries({ redisson: REDISSON, testing: TESTING, cli: CLI, client: CLIENT }).map(([name, path]) =>
      forbidden(
        `${name}-on-demand`,
        'Only users import this folder. The rest of the library does without it.',
        { path: '^lib/', pathNot: path },
        { path },
      ),
    ),
    forbidden(
      'cli-without-nest',
      'The command starts at once, without an application.',
      { path: CLI },
      { path: [NEST, TESTING, METRICS] },
    ),
    forbidden(
      'without-nest',
      'A process without Nest loads these, and what they import.',
      { path: [CLIENT, '^lib/store/index\\.ts$'] },
      { path: NEST, reachable: true },
    ),
    forbidden(
      'testing-without-redis',
      'Tests of users need no Redis.',
      { path: TESTING },
      { path: ['^lib/store/(redis|quorum)/', IOREDIS] },
    ),
    forbidden(
      'no-entry-points',
      'The entry points are for users. Inside the library, import from the file that declares the name.',
      { path: '^lib/' },
      { path: '^lib/(store/)?index\\.ts$' },
    ),
    forbidden(
      'no-cycles',
      'Two files that import each other are one file, or need a third one. This is true of types, too.',
      {},
      { circular: true },
    ),
    forbidden(
      'declared-packages',
      'What lib imports has to be in dependencies or peerDependencies of package.json.',
      { path: '^lib/' },
      {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown'],
        dependencyTypesNot: ['npm-peer', 'npm', 'type-only'],
      },
    ),
    forbidden(
      'lib-alone',
      'Tests, samples and scripts import the library, and never the other way round.',
      { path: '^lib/' },
      { path: '^(test|lab|sample-app|examples|bench|scripts|dist)/' },
    ),
    forbidden(
      'shared-test-bed',
      'Tests and laboratories import the test bed and the checker, and never the other way round.',
      { path: '^lab/(testbed|checker)/' },
      { path: '^(test|lab/(?!testbed/|checker/)|bench|examples|sample-app)' },
    ),
    forbidden(
      'resolvable',
      'There is no such file or package. Peers of the benchmark and of the fixtures are installed elsewhere.',
      { pathNot: '^(bench/libraries|test/package/fixtures)/' },
      { couldNotResolve: true },
    ),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    // Imports of types count, too.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
