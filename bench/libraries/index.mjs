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

/**
 * The default export of a library's file:
 *
 * - `title`, `module` (the package whose version is told; none for what is not a package)
 * - `waits`: whether it can wait for a lock that others hold
 * - `variants`: name → `{ about, settings }`. `defaults` comes first. With `only: 'waiting'` it is
 *   measured only where locks are waited for; `hidden` ones are for other ends, as `once`, which tries once, is for tests
 * - `open({ connection, settings })`: resolves to a client, `{ acquire(key), release(handle), close() }`. `acquire`
 *   resolves to a handle, or to `undefined` when the library gave up because others held the key; all else is an error
 *
 * `connection` gives the client its connections: `redis()` a new ioredis client, `url`, and `counted(n)` for commands
 * that do not go through ioredis.
 */
export async function loadLibrary(name) {
  return (await import(`./${name}.mjs`)).default;
}

/** Every variant that is measured: `{ library, variant, label, title, about, waits }`. */
export async function loadVariants(names = LIBRARIES) {
  const variants = [];
  for (const library of LIBRARIES.filter((name) => names.includes(name))) {
    const { variants: all, title, waits } = await loadLibrary(library);
    for (const [variant, { about, only, hidden }] of Object.entries(all)) {
      if (hidden) continue;
      const label = variant === 'defaults' ? title : `${title}, ${variant}`;
      variants.push({ library, variant, label, about, waits, isForWaiting: only === 'waiting' });
    }
  }
  return variants;
}
