// Frees locks by force, as an operator would. It is patient with servers that do not answer: each force release ends
// with an answer, so that it is known when it was.
import { serve } from '../../test/support/worker-kit.mjs';
import { createLockService, resolveModuleOptions } from './library.mjs';

const silent = { debug() {}, log() {}, warn() {}, error() {} };
const PATIENCE = 60_000;

let service;
/** On each master alone, where there are several. */
let single = [];

async function started(options) {
  const resolved = resolveModuleOptions({ ...options, commandTimeout: PATIENCE, shutdownTimeout: 0 });
  const created = createLockService(resolved, silent);
  await created.start();
  return created;
}

serve({
  async start(options) {
    const { connection } = options;
    service = await started(options);
    if (Array.isArray(connection))
      single = await Promise.all(connection.map((url) => started({ ...options, connection: url })));
  },
  forceRelease: (key) => service.forceRelease(key),
  /** As one that reached this master only. */
  forceReleaseAt: (server, key) => single[server].forceRelease(key),
  close: () => Promise.all([service, ...single].map((each) => each.close())).then(() => undefined),
});
