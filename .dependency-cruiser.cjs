'use strict';

const NEST = '^node_modules/@nestjs/';
const CLIENT = '^node_modules/ioredis/';

/** The composition root: the module's options, wiring and lifecycle. It may know every room. */
const COMPOSITION = '^lib/((store/)?index\\.ts$|module/)';

/** Names under which things are found; everybody who asks Nest for something needs them, and they know no room. */
const TOKENS = '^lib/module/redis-lock\\.tokens\\.ts$';

const ERRORS = '^lib/errors/';
const COMMON = '^lib/common/';
const KEYS = '^lib/keys/';
/** The service and what it gives out, and the options of a call. */
const LOCKS = ['^lib/(service|options)/'];
const ENGINE = '^lib/engine/';
/** What is told on diagnostics_channel; of the engine it knows the events and where they go. */
const DIAGNOSTICS = '^lib/observation/diagnostics/';
const STORE_PORT = '^lib/store/(?!index\\.ts$)[\\w.-]+\\.ts$';
const USES = ['^lib/(decorators|interceptors)/'];
/** What observes the locks of a process, from outside: it hears what is told, and asks nobody. */
const METRICS = '^lib/observation/metrics/';
/** What tells Terminus how the locks are. */
const HEALTH = '^lib/observation/health/';
/** A page for operators, on the service. */
const DASHBOARD = '^lib/dashboard/';
/** The program for operators, on the built locks. */
const CLI = '^lib/cli/';
/** The protocol of Redisson: a store on the connections of the Redis store. */
const REDISSON = '^lib/redisson/';
/** Locks for processes without Nest: a composition root of its own. */
const CLIENT_DOOR = '^lib/client/';
/** What users test with: a composition root of its own, on locks in memory. */
const TESTING = '^lib/testing/';

/** Files of `from` import nothing of the library but `to`, and no packages that match `never`. */
function room(name, comment, { from, to = [], never = [] }) {
  const rules = [
    {
      name: `${name}-knows-its-neighbours-only`,
      comment,
      severity: 'error',
      from: { path: from },
      to: { path: '^lib/', pathNot: [from, to].flat() },
    },
  ];
  if (never.length > 0) {
    rules.push({
      name: `${name}-without-packages`,
      comment,
      severity: 'error',
      from: { path: from },
      to: { path: never },
    });
  }
  return rules;
}

/** One way: decorator, interceptor → key → service → engine → store → Redis (docs/design.md). */
module.exports = {
  forbidden: [
    ...room(
      'uses',
      'Decorators and interceptors speak to the service and its locks. They know no store and no Redis.',
      {
        from: USES,
        to: [KEYS, ...LOCKS, ERRORS, COMMON, TOKENS],
        never: [CLIENT],
      },
    ),
    ...room('keys', 'A key is made of a template and its values, wherever they come from: no Nest, no Redis client.', {
      from: [KEYS],
      to: [ERRORS, COMMON],
      never: [NEST, CLIENT],
    }),
    ...room(
      'locks',
      'The service and what it gives out speak of keys and locks. Scripts and clients lie behind the engine.',
      {
        from: LOCKS,
        to: [ENGINE, KEYS, DIAGNOSTICS, ERRORS, COMMON],
        never: [CLIENT],
      },
    ),
    ...room('engine', 'The engine asks a store through its port, so that it runs on any store, and without Nest.', {
      from: [ENGINE],
      to: [STORE_PORT, ERRORS, COMMON],
      never: [NEST, CLIENT],
    }),
    ...room(
      'diagnostics',
      'What is told to whoever listens is made of events; nobody who listens can disturb a lock.',
      {
        from: [DIAGNOSTICS],
        to: ['^lib/engine/(event-publisher|lock-event)\\.ts$', ERRORS, COMMON],
        never: [NEST, CLIENT],
      },
    ),
    ...room(
      'metrics',
      'Metrics, spans and log lines are made of what the diagnostics channels tell. Packages are given.',
      {
        from: [METRICS],
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
    ...room(
      'health',
      'An indicator asks the service, and says it in the words of Terminus, which it does not import.',
      {
        from: [HEALTH],
        to: [...USES, ...LOCKS, ERRORS, COMMON, TOKENS],
        never: [CLIENT, '^node_modules/@nestjs/terminus/'],
      },
    ),
    ...room(
      'dashboard',
      'A page shows what the service tells. It knows no store, and no adapter but by what all have in common.',
      {
        from: [DASHBOARD],
        to: [...USES, ...LOCKS, '^lib/engine/lock-event\\.ts$', ERRORS, COMMON, TOKENS],
        never: [CLIENT, '^node_modules/@nestjs/platform-'],
      },
    ),
    ...room('store-port', 'The port is what the engine and the stores agree on; it knows neither.', {
      from: [STORE_PORT],
      to: [ERRORS, COMMON],
      never: [NEST, CLIENT],
    }),
    ...['redis', 'memory', 'quorum'].flatMap((store) =>
      room(
        `store-${store}`,
        'A store answers one question at a time. Waiting, renewing and timing are for the engine.',
        {
          from: [`^lib/store/${store}/`],
          // Several masters are asked through the same port as one.
          to: [STORE_PORT, KEYS, ERRORS, COMMON],
          never: store === 'redis' ? [NEST] : [NEST, CLIENT],
        },
      ),
    ),
    ...room('redisson', 'Another layout in the same Redis: its own scripts, on the connections of the Redis store.', {
      from: [REDISSON],
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
    {
      name: 'redisson-is-loaded-on-demand',
      comment: 'Its scripts are for those who import the subpath.',
      severity: 'error',
      from: { path: '^lib/', pathNot: REDISSON },
      to: { path: REDISSON },
    },
    ...room('errors', 'Everybody may throw them, so they depend on nobody.', { from: [ERRORS], never: [NEST, CLIENT] }),
    ...room('common', 'Clocks and durations are for everybody, so they depend on nobody.', {
      from: [COMMON],
      to: [ERRORS],
      never: [NEST, CLIENT],
    }),
    ...room('tokens', 'Tokens are for everybody who asks Nest for something, so they know what everybody may know.', {
      from: [TOKENS],
      to: [COMMON, ERRORS],
    }),
    {
      name: 'every-room-has-its-rule',
      comment: 'A new directory in lib wants a rule above that says what it may know.',
      severity: 'error',
      from: {
        path: '^lib/',
        pathNot: [
          COMPOSITION,
          KEYS,
          ...LOCKS,
          ENGINE,
          DIAGNOSTICS,
          '^lib/store/(redis|memory|quorum)/',
          STORE_PORT,
          ERRORS,
          COMMON,
          ...USES,
          METRICS,
          HEALTH,
          DASHBOARD,
          REDISSON,
          CLI,
          CLIENT_DOOR,
          TESTING,
        ],
      },
      to: {},
    },
    {
      name: 'testing-is-for-tests',
      comment: 'What users test with is put together from the library, which does without it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: TESTING },
      to: { path: TESTING },
    },
    {
      name: 'cli-is-for-operators',
      comment: 'The program is put together from the library, which does without it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: CLI },
      to: { path: CLI },
    },
    {
      name: 'cli-without-nest',
      comment: 'A terminal wants its answer at once, and no application around it.',
      severity: 'error',
      from: { path: CLI },
      to: { path: [NEST, TESTING, METRICS] },
    },
    {
      name: 'client-is-for-users',
      comment: 'The client is put together from the library, which does without it.',
      severity: 'error',
      from: { path: '^lib/', pathNot: CLIENT_DOOR },
      to: { path: CLIENT_DOOR },
    },
    {
      name: 'doors-without-nest',
      comment: 'A process without Nest loads these, and what they import.',
      severity: 'error',
      from: { path: [CLIENT_DOOR, '^lib/store/index\\.ts$'] },
      to: { path: NEST, reachable: true },
    },
    {
      name: 'testing-without-redis',
      comment: 'Tests of users need no Redis.',
      severity: 'error',
      from: { path: TESTING },
      to: { path: ['^lib/store/(redis|quorum)/', CLIENT] },
    },
    {
      name: 'not-through-the-front-door',
      comment: 'The entry points are for users. Inside, import from where a thing is.',
      severity: 'error',
      from: { path: '^lib/' },
      to: { path: '^lib/(store/)?index\\.ts$' },
    },
    {
      name: 'no-cycles',
      comment: 'Two files that need each other are one file, or hide a third one. This holds for types as well.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'only-what-is-installed-with-us',
      comment: 'What lib imports has to be in dependencies or peerDependencies of package.json.',
      severity: 'error',
      from: { path: '^lib/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown'],
        dependencyTypesNot: ['npm-peer', 'npm', 'type-only'],
      },
    },
    {
      name: 'nothing-from-outside',
      comment: 'The library is lib/ alone: tests, samples and scripts import it, never the other way round.',
      severity: 'error',
      from: { path: '^lib/' },
      to: { path: '^(test|lab|sample-app|examples|bench|scripts|dist)/' },
    },
    {
      name: 'test-bed-is-for-all',
      comment: 'Tests and laboratories use the test bed and the checker, which know none of them.',
      severity: 'error',
      from: { path: '^lab/(testbed|checker)/' },
      to: { path: '^(test|lab/(?!testbed/|checker/)|bench|examples|sample-app)' },
    },
    {
      name: 'resolvable',
      comment: 'The import leads nowhere. Peers of the benchmark and of the fixtures are installed elsewhere.',
      severity: 'error',
      from: { pathNot: '^(bench/libraries|test/package/fixtures)/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    // Imports of types count: who knows a type knows the room it is from.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
