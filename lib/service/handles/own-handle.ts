import type { LockEngine } from '../../engine/lock-engine.js';
import type { LockLostError } from '../../errors/index.js';
import type { LockLostListener } from '../../options/acquire-options.js';
import type { LockHandle } from './lock-handle.js';

/** A handle with what only the library uses. */
export interface OwnHandle extends LockHandle {
  /** Whether the holder has released it. */
  readonly isReleased: boolean;
  /** The owner of the hold of each key, as its events name it. Does not make the owner known. */
  readonly holders: ReadonlyMap<string, string>;
  /** The error of the loss, if the lock was lost. */
  readonly loss: LockLostError | undefined;
  /** Called when the handle is released. */
  onReleased: (() => void) | undefined;
  /**
   * Releases the handle if that needs no command: other handles share the hold, or a waiter of this process gets the lock.
   * `false`: it is not released yet.
   */
  releaseAtOnce(): boolean;
  /** Releases the handle without waiting for the answer. A failure is logged, and a loss is an event. */
  releaseInBackground(): void;
  /** The handle of one of its keys. */
  part(key: string): KeyHandle | undefined;
  /** Calls `listener` when the lock is lost. */
  onLost(listener: LockLostListener): void;
  /** Stops the renewal if this handle is garbage-collected before it is released. */
  guardAgainstDropping(): this;
  /**
   * Stops the renewal, so that the lock ends with its lease, unless another handle shares it or this one is released before.
   * `why` follows the key in the log: "was not unlocked".
   */
  abandon(why: string): void;
}

/** The handle of one key. */
export interface KeyHandle extends OwnHandle {
  /** The engine of the client that holds the lock. */
  readonly engine: LockEngine;
  /** Makes another handle of the same hold. */
  reenter(): KeyHandle;
}
