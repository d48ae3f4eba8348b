// A process with one lock service of the built library, on the Redis at argv[2], with one holder and one waiter. Closes
// the service on request, and has nothing else that would keep the process alive after that.
import { once } from 'node:events';
import { createLockService } from '../../../dist/esm/module/redis-lock.composition.js';
import { resolveModuleOptions } from '../../../dist/esm/module/redis-lock.options.js';
import { tell } from './worker-kit.mjs';

const silent = { debug() {}, log() {}, warn() {}, error() {} };
const options = { connection: process.argv[2], commandTimeout: 300, shutdownTimeout: 100 };
const service = createLockService(resolveModuleOptions(options), silent);
await service.start();
await service.acquire('a');
service.acquire('a').catch(() => undefined);

tell('ready');
for (;;) {
  const [{ ask }] = await once(process, 'message');
  if (ask === 'close') break;
  tell('connected', {
    value: await service.inspect('a').then(
      () => true,
      () => false,
    ),
  });
}
await service.close();
tell('closed');
