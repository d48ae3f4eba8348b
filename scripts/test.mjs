import { build } from './build.mjs';
import { checkGenerated as checkScripts } from './generate-lua.mjs';
import { tell } from './lib/counts.mjs';
import { runJest } from './lib/jest.mjs';
import { runAsScript } from './lib/run.mjs';
import { ensureAll } from './setup.mjs';

/** All tests, or the ones that the arguments (Jest's) choose. Ends with the line `N passed, N failed`. */
async function test(jestArguments) {
  const { installation } = await ensureAll();
  checkScripts();
  // It needs the packages that are installed by now.
  const { checkGenerated: checkPage } = await import('./generate-dashboard.mjs');
  checkPage();
  // Tests that start processes of their own start them on the built library.
  await build();
  const { code, ...counts } = await runJest(jestArguments, installation);
  return tell(counts) || code;
}

await runAsScript(() => test(process.argv.slice(2)));
