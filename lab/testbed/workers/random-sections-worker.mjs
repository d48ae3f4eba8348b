// A process with one lock service of the built library that locks at random (see random-sections.mjs), and stalls its
// own event loop on request.
import { createLockService } from '../../../dist/esm/module/redis-lock.composition.js';
import { resolveModuleOptions } from '../../../dist/esm/module/redis-lock.options.js';
import { startRandomSections } from './random-sections.mjs';
import { started } from '../wait/started.mjs';
import { serve } from './worker-kit.mjs';

const escaped = [];
process.on('unhandledRejection', (reason) => escaped.push(`unhandled rejection: ${reason?.stack ?? reason}`));
process.on('uncaughtException', (error) => escaped.push(`uncaught exception: ${error?.stack ?? error}`));

const silent = { debug() {}, log() {}, warn() {}, error() {} };
let service;
let sections;

serve({
  async start(options, sectionOptions) {
    service = createLockService(resolveModuleOptions(options), silent);
    await started(service);
    sections = startRandomSections(service, sectionOptions);
  },
  async block(ms) {
    const until = performance.now() + ms;
    while (performance.now() < until);
  },
  async stop() {
    await sections.stop();
    await service.close();
  },
  async report() {
    return { ...sections.report(), escaped };
  },
});
