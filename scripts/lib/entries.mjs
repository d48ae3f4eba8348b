/** The modules of lib that the package exports, by their path in dist without an ending. */
export const ENTRY_POINTS = {
  index: 'index',
  'client/index': 'client/index',
  'store/index': 'store/index',
  'testing/index': 'testing/index',
  'diagnostics/index': 'observation/diagnostics/index',
  'metrics/index': 'observation/metrics/index',
  'health/index': 'observation/health/index',
  'dashboard/index': 'dashboard/index',
  'redisson/index': 'redisson/index',
};

/** Of these, the modules that no other entry point loads are few: they stand in the file that all entry points load. */
export const SMALL_ENTRY_POINTS = new Set(['client/index', 'store/index', 'diagnostics/index']);

/** Programs: ES modules only, without declarations. */
export const PROGRAMS = { 'cli/main': 'cli/main' };

/**
 * Modules that the tests, the benchmarks and the scripts of this repository also import from the built library. The
 * files stand in dist/esm/module, which the package leaves out.
 */
export const INTERNALS = {
  'module/redis-lock.composition': { module: 'module/redis-lock.composition', name: 'createLockService' },
  'module/redis-lock.options': { module: 'module/redis-lock.options', name: 'resolveModuleOptions' },
};
