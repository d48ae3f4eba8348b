import { LockConfigError } from '../errors/index.js';

/** Whoever reads and wants to write as well would wait for itself. */
export const upgradeRefused = (key: string): LockConfigError =>
  new LockConfigError(
    `'${key}' is held for reading by the same owner, which would wait for itself: take the write lock from the start ` +
      '(it lets its owner read, too), or release the read lock first.',
    { key },
  );
