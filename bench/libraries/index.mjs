/** The libraries in the order in which tables and charts show them. Each is a file of this directory, by its name. */
export const LIBRARIES = [
  'raw',
  'scripts',
  'ours',
  'redlock',
  'sesamecare-redlock',
  'redis-semaphore',
  'verrou',
  'ioredis-lock',
  'murlock',
  'redlock-universal',
];

/** Libraries of other languages, in the same order. They are measured with `--all`, or if they are chosen. */
export const FOREIGN = ['redisson-lock', 'redisson-fair-lock', 'rueidislock', 'redsync', 'redislock'];

/** Measured only by the scenarios that name them (scenarios/index.mjs). */
export const OF_SCENARIOS = ['ours-redisson'];

/**
 * The default export of a library's file:
 *
 * - `title`, `module` (the package whose version the report shows; left out if the library is not a package)
 * - `waits`: whether it can wait for a lock that others hold
 * - `variants`: name → `{ about, settings }`. `defaults` comes first. With `only: 'waiting'` it is
 *   measured only where locks are waited for, with `waits: false` only where they are not; `hidden` ones are for other ends, as `once`, which tries once, is for tests
 * - `program`, `world`, `version()`: for a library of another language (foreign.mjs)
 * - `modes`: how else it lends a key, if it does: `read`, `readWrite`, `permit` → `{ label, variants }`, with the names of
 *   the variants to measure. `acquire` has a second
 *   argument then, `{ kind: 'read' | 'write' | 'permit', permits }`
 * - `open({ connection, settings })`: resolves to a client, `{ acquire(key), release(handle), close() }`. `acquire`
 *   resolves to a handle, or to `undefined` when the library gave up because others held the key; all else is an error
 *
 * `connection` gives the client its connections: `redis()` a new ioredis client, `url`, and `counted(n)` for commands
 * that do not go through ioredis.
 */
export async function loadLibrary(name) {
  return (await import(`./${name}.mjs`)).default;
}

/** Every variant that is measured: `{ library, variant, label, title, about, waits, world }`. */
export async function loadVariants(names = LIBRARIES) {
  const variants = [];
  for (const library of [...LIBRARIES, ...OF_SCENARIOS, ...FOREIGN].filter((name) => names.includes(name))) {
    const { variants: all, title, waits, world, modes } = await loadLibrary(library);
    const name = world === undefined ? title : `${title} (${world})`;
    for (const [variant, { about, only, hidden, ...own }] of Object.entries(all)) {
      if (hidden) continue;
      const label = variant === 'defaults' ? name : `${name}, ${variant}`;
      const isForWaiting = only === 'waiting';
      variants.push({ library, variant, label, about, waits: own.waits ?? waits, world, modes, isForWaiting });
    }
  }
  return variants;
}
