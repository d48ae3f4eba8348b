import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './lib/paths.mjs';
import { runAsScript, runOrFail } from './lib/run.mjs';

const DIST = join(ROOT, 'dist');
const FORMATS = ['esm', 'cjs'];

/** Compiles the library to dist/esm and dist/cjs, or to one of them. What was there stays until the new files are complete. */
export async function build(formats = FORMATS) {
  const fresh = join(DIST, `.fresh-${process.pid}`);
  mkdirSync(fresh, { recursive: true });
  try {
    // Both to their end, so that neither still writes when its directory is removed.
    const compilations = await Promise.allSettled(formats.map((format) => compile(format, join(fresh, format))));
    for (const { status, reason } of compilations) if (status === 'rejected') throw reason;
    // Above it, package.json says "module"; without this line Node would read the CommonJS files as ES modules.
    if (formats.includes('cjs')) writeFileSync(join(fresh, 'cjs', 'package.json'), '{ "type": "commonjs" }\n');
    for (const format of formats) replace(join(DIST, format), join(fresh, format), join(fresh, `old-${format}`));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function compile(format, outDir) {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  return runOrFail(process.execPath, [tsc, '-p', `tsconfig.${format}.json`, '--outDir', outDir], {
    what: `Compiling to dist/${format}`,
  });
}

function replace(target, source, old) {
  if (existsSync(target)) renameSync(target, old);
  renameSync(source, target);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await runAsScript(() => build());
