// The site of the documentation: npm run docs, or npm run docs:dev to write it.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkNodeVersion, ensureNodeModules } from './setup.mjs';
import { ENTRY_POINTS } from './lib/entries.mjs';
import { ROOT } from './lib/paths.mjs';
import { runAsScript, runOrFail } from './lib/run.mjs';

const DOCS = join(ROOT, 'docs');

/** Makes the API reference and builds the site to docs/.vitepress/dist; fails on a link that leads nowhere. */
async function docs([command = 'build', ...rest]) {
  checkNodeVersion();
  await ensureNodeModules(); // the reference is made of the library's types
  await ensureNodeModules(DOCS);
  rmSync(join(DOCS, 'api'), { recursive: true, force: true });
  const modules = Object.values(ENTRY_POINTS).flatMap((module) => ['--entryPoints', join(ROOT, 'lib', `${module}.ts`)]);
  const typedoc = [
    '--options',
    join(DOCS, 'typedoc.json'),
    '--logLevel',
    'Warn',
    '--treatWarningsAsErrors',
    ...modules,
  ];
  await runTool('typedoc/bin/typedoc', typedoc, 'The API reference');
  await runTool('vitepress/bin/vitepress.js', [command, DOCS, ...rest], 'The site');
}

const runTool = (tool, args, what) =>
  runOrFail(process.execPath, [join(DOCS, 'node_modules', tool), ...args], { what });

await runAsScript(() => docs(process.argv.slice(2)));
