import { permitsOf } from '../schedule/operations.mjs';

const lock = (object, { signal, waitTimeout, expire, maxRenewTimes, holdAtLeast }) =>
  object.lock({ signal, waitTimeout, expire, maxRenewTimes, holdAtLeast });

/** The doors of the library through which a lock can be taken; each answers a handle, or `null`. */
export const takers = {
  acquire: (service, { keys, kind }, options) => service.acquire(kind === 'several' ? keys : keys[0], options),
  tryAcquire: (service, { keys, kind }, options) => service.tryAcquire(kind === 'several' ? keys : keys[0], options),
  lock: (service, { keys, owner }, options) => lock(service.getLock(keys[0], { owner }), options),
  tryLock: (service, { keys, owner }, { waitTimeout, expire }) =>
    service.getLock(keys[0], { owner }).tryLock(waitTimeout, expire),
  fairLock: (service, { keys }, options) => lock(service.getFairLock(keys[0]), options),
  readLock: (service, { keys }, options) => lock(service.getReadWriteLock(keys[0]).readLock(), options),
  writeLock: (service, { keys }, options) => lock(service.getReadWriteLock(keys[0]).writeLock(), options),
  multiLock: (service, { keys }, options) => lock(service.getMultiLock(keys), options),
  semaphore: (service, { keys, units }, { signal, waitTimeout, expire, maxRenewTimes, holdAtLeast }) =>
    service
      .getSemaphore(keys[0], { permits: permitsOf() })
      .acquire(units, { signal, waitTimeout, expire, maxRenewTimes, holdAtLeast }),
};
