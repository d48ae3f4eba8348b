// Installs what the tests of the adapters need: the other libraries, and this one as it is built.
import { build } from '../../scripts/build.mjs';
import { ensureAll } from '../../scripts/setup.mjs';
import { runAsScript } from '../../scripts/lib/run.mjs';
import { ensurePeers, installLibrary } from './install.mjs';

await runAsScript(async () => {
  await ensureAll();
  await ensurePeers();
  await build();
  installLibrary();
});
