// Frees locks by force, as an operator would. It is patient with servers that do not answer: each force release ends
// with an answer, so that it is known when it was.
import { createLockService } from '../../dist/esm/redis-lock.composition.js';
import { resolveModuleOptions } from '../../dist/esm/redis-lock.options.js';
import { serve } from '../../test/support/worker-kit.mjs';

const silent = { debug() {}, log() {}, warn() {}, error() {} };
const PATIENCE = 60_000;

let service;

serve({
  async start(options) {
    const resolved = resolveModuleOptions({ ...options, commandTimeout: PATIENCE, shutdownTimeout: 0 });
    service = createLockService(resolved, silent);
    await service.start();
  },
  forceRelease: (key) => service.forceRelease(key),
  close: () => service.close(),
});
