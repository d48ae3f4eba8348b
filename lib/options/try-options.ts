import type { Duration } from '../common/duration.js';
import { LockConfigError } from '../errors/index.js';
import type { AcquireOptions } from './acquire-options.js';
import { refuseUnknownOptions } from './option-readers.js';
import { optionNames } from './option-table.js';

/**
 * Reads what `tryLock` and `semaphore.tryAcquire` take: the wait and the lease one after the other, as in Java, or an object
 * of options in their place.
 * @throws LockConfigError
 */
export function tryOptions(
  label: string,
  place: 'lock' | 'semaphore',
  wait: Duration | AcquireOptions,
  expire: Duration | undefined,
): AcquireOptions {
  // `null` is no lease, but stands for a wait that is not configured.
  if (typeof wait !== 'object' || wait === null || Array.isArray(wait))
    return { waitTimeout: wait as Duration, expire: expire === undefined ? 0 : expire };
  refuseUnknownOptions(label, wait, optionNames(place));
  if (expire !== undefined) {
    throw new LockConfigError(
      `${label} takes the lease either after the wait or in its options: write { waitTimeout: '3s', expire: '10s' }.`,
    );
  }
  return wait;
}
