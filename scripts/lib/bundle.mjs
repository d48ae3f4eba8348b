import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './paths.mjs';

/** What the tests, the benchmarks and the scripts of the repository import from the built library beside what users do. */
const FOR_OURSELVES = ['module/redis-lock.composition', 'module/redis-lock.options'];

/** Each file that somebody imports, by its path without an ending. */
function entries(format) {
  const { exports, bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const condition = format === 'esm' ? 'import' : 'require';
  const targets = Object.values(exports).flatMap((target) => target[condition]?.default ?? []);
  if (format === 'esm') targets.push(...Object.values(bin));
  return [...targets.map((path) => path.replace(/^.*?dist\/\w+\/|\.js$/g, '')), ...FOR_OURSELVES];
}

/**
 * Joins compiled modules to few files: Node takes about a millisecond for each that it has to load. What several entries
 * share is a file of its own, so that a class is the same one for all of them.
 */
export async function bundle(modules, { format, directory }) {
  const input = Object.fromEntries(entries(format).map((name) => [name, join(modules, `${name}.js`)]));
  // Whoever sets up a fresh machine reads this file before rollup is there.
  const { rollup } = await import('rollup');
  const bundled = await rollup({
    input,
    external: (name) => !name.startsWith('.') && !name.startsWith(modules),
    // Decorators do what they do when a class is defined.
    treeshake: false,
    onLog: (level, { code, message }) => {
      // So it is in an ES module anyway; the helpers of tsc ask for it.
      if (level === 'warn' && code !== 'THIS_IS_UNDEFINED') throw new Error(message);
    },
  });
  await bundled.write({
    dir: directory,
    format: format === 'esm' ? 'es' : 'cjs',
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name].js',
    exports: 'named',
    // Of other packages names alone are imported, whichever format they have.
    interop: 'esModule',
    generatedCode: 'es2015',
    minifyInternalExports: false,
  });
  await bundled.close();
}
