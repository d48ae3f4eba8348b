import { LockConfigError } from '../errors/index.js';

/** A reader that asks for the write lock would wait for itself. */
export const upgradeRefused = (key: string): LockConfigError =>
  new LockConfigError(
    `'${key}' is held for reading by the same owner, which would wait for itself: acquire the write lock from the start ` +
      '(its owner may read, too), or release the read lock first.',
    { key },
  );
