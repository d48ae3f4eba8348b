/** The scenarios of a run without flags, in its order. Each is a file of this directory, by its name. */
export const SCENARIOS = [
  'sequential',
  'concurrent',
  'fill',
  'hot-1x64',
  'hot-4x16',
  'hot-16x1',
  'section-5ms',
  'section-20ms',
  'many-keys',
  'slow-network',
  'readers',
  'read-write',
  'permits',
  'held-locks',
  're-entry',
  'decorator',
];

/** Scenarios that take long or need another language, and have a flag of their own. */
export const EXTRAS = {
  memory: 'memory',
  growth: 'growth',
  holders: 'holders',
  neighbour: 'neighbour',
  mixed: 'mixed',
  pairs: 'pairs',
};

/** The extras that a run with `--all` contains, too: they measure this library only. */
export const EXTRAS_OF_ALL = ['neighbour', 'growth', 'holders'];

/** Scenarios that measure these libraries, whichever are chosen. Without all of them such a scenario is left out. */
export const OWN_LIBRARIES = { mixed: ['ours-redisson', 'redisson-lock', 'redisson-fair-lock'] };

/**
 * The default export of a scenario's file:
 *
 * - `name`, `title`, `about`
 * - `includes(variant)`: whether it is measured for that variant of a library
 * - `open(context)`, if it needs something of its own around its measurements: `{ context, close() }`
 * - `measure(context, variant, timing)`: one measurement, as numbers by name, and a Histogram `waits` where there is one
 * - `columns`: which numbers the table shows: `{ key, title, digits }`
 * - `charts`: in which charts it is shown
 * - `rounds(timing)`: how many, where not as many as the run has
 * - `expand(variants)`: the variants to measure instead, such as several sizes of each
 * - `notes(results)`: lines below the table
 */
export async function loadScenario(name) {
  return (await import(`./${name}.mjs`)).default;
}
