import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundle } from './lib/bundle.mjs';
import { ROOT } from './lib/paths.mjs';
import { runAsScript, runOrFail } from './lib/run.mjs';

const DIST = join(ROOT, 'dist');
const FORMATS = ['esm', 'cjs'];

/** Compiles the library to dist/esm and dist/cjs, or to one of them. What was there stays until the new files are complete. */
export async function build(formats = FORMATS) {
  const fresh = join(DIST, `.fresh-${process.pid}`);
  const modules = join(fresh, 'modules');
  mkdirSync(fresh, { recursive: true });
  try {
    await compile(modules);
    await Promise.all(formats.map((format) => assemble(modules, format, join(fresh, format))));
    for (const format of formats) replace(join(DIST, format), join(fresh, format), join(fresh, `old-${format}`));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function compile(outDir) {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  return runOrFail(process.execPath, [tsc, '-p', 'tsconfig.esm.json', '--outDir', outDir], {
    what: 'Compiling the library',
  });
}

/** Declarations stay a file for each module: nobody loads them at run time. */
async function assemble(modules, format, directory) {
  await bundle(modules, { format, directory });
  const isDeclaration = (path) => !path.endsWith('.js') && !(format === 'cjs' && path === join(modules, 'cli'));
  cpSync(modules, directory, { recursive: true, filter: isDeclaration });
  // Above it, package.json says "module"; without this line Node would read the CommonJS files as ES modules.
  if (format === 'cjs') writeFileSync(join(directory, 'package.json'), '{ "type": "commonjs" }\n');
}

function replace(target, source, old) {
  if (existsSync(target)) renameSync(target, old);
  renameSync(source, target);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await runAsScript(() => build());
