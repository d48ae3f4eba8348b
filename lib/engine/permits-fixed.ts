import { LockConfigError } from '../errors/index.js';
import type { LockStore } from '../store/lock-store.js';

/** The store has no `permits`. */
export const permitsFixed = (lacks: LockStore['lacks']): LockConfigError =>
  new LockConfigError(
    lacks?.permitChanges ??
      'this store cannot change permits that are in use, or drain them: give it `permits`, or release and acquire all of them.',
  );
