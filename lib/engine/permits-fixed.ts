import { LockConfigError } from '../errors/index.js';

/** The store has no `permits`. */
export const permitsFixed = (): LockConfigError =>
  new LockConfigError(
    'this store cannot change permits that are in use, or drain them: give it `permits`, or release and acquire all of them.',
  );
