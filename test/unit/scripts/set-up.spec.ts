import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const STATIC_IMPORT = /^(?:import|export)\s(?:[^;'"]*\sfrom\s)?\s*['"]([^'"]+)['"]/gm;

/** Every file that is loaded before the first line of `file` runs → its imports that are neither Node's nor a file. */
function packagesBehind(file: string, seen = new Map<string, string[]>()): Map<string, string[]> {
  if (seen.has(file)) return seen;
  const specifiers = [...readFileSync(file, 'utf8').matchAll(STATIC_IMPORT)].map(([, specifier]) => specifier!);
  seen.set(
    file,
    specifiers.filter((specifier) => !/^(?:node:|\.)/.test(specifier)),
  );
  for (const specifier of specifiers.filter((name) => name.startsWith('.'))) {
    packagesBehind(resolve(dirname(file), specifier), seen);
  }
  return seen;
}

// They install the packages that they need: where they start there may be no package yet.
it.each([
  ...['demo', 'test', 'test-browser', 'fixtures', 'docs', 'setup'].map((name) => `scripts/${name}.mjs`),
  ...['lab/chaos/run.mjs', 'lab/simulation/run.mjs', 'bench/run.mjs', 'bench/package-size.mjs'],
])('%s starts where no package is installed', (entry) => {
  expect(existsSync(resolve(ROOT, entry))).toBe(true);
  const loaded = packagesBehind(resolve(ROOT, entry));
  expect(loaded.size).toBeGreaterThan(3);
  const offending = [...loaded].filter(([, packages]) => packages.length > 0);
  expect(offending.map(([file, packages]) => `${relative(ROOT, file)}: ${packages.join(', ')}`)).toEqual([]);
});
