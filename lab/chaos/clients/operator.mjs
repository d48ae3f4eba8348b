// Frees locks by force, as an operator would. It is patient with servers that do not answer: each force release ends
// with an answer, so that it is known when it was. It also tells the time-outs that the library has resolved.
import { serve } from '../../testbed/workers/worker-kit.mjs';
import { createLockService, resolveModuleOptions } from './library.mjs';

const silent = { debug() {}, log() {}, warn() {}, error() {} };
const PATIENCE = 60_000;

let service;
/** The same through proxies. */
let far;

async function started(options) {
  const resolved = resolveModuleOptions({ ...options, commandTimeout: PATIENCE, shutdownTimeout: 0 });
  const created = createLockService(resolved, silent);
  await created.start();
  return created;
}

serve({
  async start(options, farConnection) {
    service = await started(options);
    far = await started({ ...options, connection: farConnection });
    const { renewedLease, commandTimeout, grantTimeout } = resolveModuleOptions(options);
    return { renewedLease, commandTimeout, grantTimeout };
  },
  forceRelease: (key) => service.forceRelease(key),
  forceReleaseFar: (key) => far.forceRelease(key),
  close: () => Promise.all([service, far].map((each) => each.close())).then(() => undefined),
});
