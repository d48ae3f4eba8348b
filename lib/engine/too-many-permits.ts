import { LockConfigError } from '../errors/index.js';
import type { LockMode } from '../store/lock-store.js';

/** `setPermits` has made the semaphore smaller than the request, which would wait forever. */
export const tooManyPermits = ({ key, mode }: { key: string; mode: LockMode }, limit: number): LockConfigError => {
  const asked = mode.kind === 'permits' ? mode.units : 1;
  return new LockConfigError(
    `${asked} permits of '${key}' can never be granted, since setPermits has set their number to ${limit}: ask for at most ` +
      `${limit}, or raise the number with setPermits.`,
    { key },
  );
};
