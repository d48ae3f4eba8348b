import { once } from 'node:events';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { bundleCode } from './lib/bundle.mjs';
import { ROOT } from './lib/paths.mjs';
import { runAsScript, runOrFail } from './lib/run.mjs';
import { SHORT_LIVED } from './lib/short-lived.mjs';

const DIST = join(ROOT, 'dist');
const FORMATS = ['esm', 'cjs'];

/** Set to 1, it says that dist/ is built from these sources: `.ci/run` builds once for all of its steps. */
const BUILT_VARIABLE = 'LOCKS_BUILT';

/** Compiles the library to dist/esm and dist/cjs. The old files stay until the new ones are complete. */
export async function build() {
  if (process.env[BUILT_VARIABLE] === '1') return;
  const fresh = join(DIST, `.fresh-${process.pid}`);
  const modules = join(fresh, 'modules');
  mkdirSync(fresh, { recursive: true });
  try {
    await compile(modules);
    await Promise.all([bundleDeclarations(modules, fresh), bundleCode(modules, fresh)]);
    for (const format of FORMATS) replace(join(DIST, format), join(fresh, format), join(fresh, `old-${format}`));
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function compile(outDir) {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  return runOrFail(process.execPath, [...SHORT_LIVED, tsc, '-p', 'tsconfig.esm.json', '--outDir', outDir], {
    what: 'Compiling the library',
  });
}

/** In a thread of its own: it takes as long as the code. */
async function bundleDeclarations(modules, dist) {
  const thread = new Worker(new URL('./lib/declarations-thread.mjs', import.meta.url), {
    workerData: { modules, dist },
  });
  await once(thread, 'exit');
}

function replace(target, source, old) {
  if (existsSync(target)) renameSync(target, old);
  renameSync(source, target);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await runAsScript(() => build());
