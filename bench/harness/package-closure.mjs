import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The directories of a package and of all its dependencies, without the packages that are `present` in the application
 * anyway, and their own dependencies. Each directory once, the package itself first.
 */
export function closureOf(name, { modules, present }) {
  const root = join(modules, name);
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    const { dependencies = {} } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
    for (const dependency of Object.keys(dependencies)) {
      if (present.includes(dependency)) continue;
      const found = resolveFrom(path, dependency);
      if (found !== undefined) visit(found);
    }
  };
  visit(realpathSync(root));
  return [...seen];
}

/** As Node looks for it: in the `node_modules` of each directory above. */
function resolveFrom(path, name) {
  for (let directory = path; directory !== dirname(directory); directory = dirname(directory)) {
    const candidate = join(directory, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate);
  }
  return undefined;
}

/** Bytes of all files of a package, without the packages inside it. */
export function sizeOf(path) {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.name !== 'node_modules')
    .reduce((sum, entry) => {
      const inner = join(path, entry.name);
      return sum + (entry.isDirectory() ? sizeOf(inner) : lstatSync(inner).size);
    }, 0);
}
