import type { LockEngine } from '../../engine/lock-engine.js';
import type { LockLostError } from '../../errors/index.js';
import type { LockLostListener } from '../../options/acquire-options.js';
import type { LockHandle } from './lock-handle.js';

/** A handle as the library itself knows it. */
export interface OwnHandle extends LockHandle {
  /** Whether it has been given back, by its holder. */
  readonly isReleased: boolean;
  /** How the lock was lost, if it was. */
  readonly loss: LockLostError | undefined;
  /** Whether the lock is not renewed any more on its account. */
  readonly isAbandoned: boolean;
  /** Called when the handle is released. */
  onReleased: (() => void) | undefined;
  /** Releases it where others share the hold, which takes no word to anybody; `false`: it is not released yet. */
  releaseShare(): boolean;
  /** The handle of one of its keys. */
  part(key: string): KeyHandle | undefined;
  /** Has `listener` called when the lock is lost. */
  onLost(listener: LockLostListener): void;
  /** Has a handle that nobody releases found out when it is collected. */
  guardAgainstDropping(): this;
  /**
   * Has the lock end with its lease, unless another handle shares it, or this one is released before. `why` is told of the
   * key: "was not unlocked".
   */
  abandon(why: string): void;
}

/** The handle of one key. */
export interface KeyHandle extends OwnHandle {
  /** Tells which client's lock it is. */
  readonly engine: LockEngine;
  /** Another handle of the same hold. */
  reenter(): KeyHandle;
}
