import { createLockService } from '../../../dist/esm/module/redis-lock.composition.js';
import { resolveModuleOptions } from '../../../dist/esm/module/redis-lock.options.js';

/** The lease of locks that renew themselves, in ms: a tenth of the default, so that faults that last a lease can be measured. */
export const LEASE = 3_000;

const silent = { debug() {}, log() {}, warn() {}, error() {} };

/** The library's defaults, but for the lease. */
export const serviceOptions = (connection) => ({ connection, renewedLease: LEASE, shutdownTimeout: 0 });

export async function startService(connection) {
  const service = createLockService(resolveModuleOptions(serviceOptions(connection)), silent);
  await service.start();
  return service;
}
