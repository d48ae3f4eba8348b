import { LockConfigError } from '../errors/index.js';
import type { HoldMode } from '../store/lock-store.js';

/** The semaphore has fewer permits than the request, which would wait forever. */
export const tooManyPermits = ({ key, mode }: { key: string; mode: HoldMode }, limit: number): LockConfigError => {
  const asked = mode.kind === 'permits' ? mode.units : 1;
  return new LockConfigError(
    `${asked} permits of '${key}' can never be granted, because there are only ${limit}: request at most ${limit}, or raise ` +
      'the number with setPermits.',
    { key },
  );
};
